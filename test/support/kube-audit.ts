/** The audit log of a real kube-apiserver: the requests of a group of accounts and their answers. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** One request about objects of a kind. */
export interface AuditedRequest {
  readonly user: string;
  readonly verb: string;
  readonly apiGroup: string;
  /** With its subresource, such as `nodes/status`. */
  readonly resource: string;
  /** Empty for a cluster-scoped resource and for all namespaces. */
  readonly namespace: string;
  /** HTTP status. */
  readonly status: number;
  readonly isDryRun: boolean;
}

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: { apiGroup?: string; resource?: string; subresource?: string; namespace?: string };
  readonly responseStatus?: { readonly code: number };
}

const logIn = (folder: string): string => join(folder, "audit.log");

/** Arguments that make the server record the requests of a group; none without one. */
export function auditArgs(folder: string, group: string | undefined): string[] {
  if (group === undefined) return [];
  const policy = join(folder, "audit-policy.json");
  // Requests are recorded with their answers; a watch is recorded only when it ends, by a server of 1.20.
  const rules = [{ level: "Metadata", userGroups: [group], omitStages: ["RequestReceived"] }, { level: "None" }];
  writeFileSync(policy, JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }));
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${logIn(folder)}`];
}

/** The requests recorded so far, except those without a resource. */
export function readAudit(folder: string): AuditedRequest[] {
  if (!existsSync(logIn(folder))) return [];
  const lines = readFileSync(logIn(folder), "utf8").split("\n").slice(0, -1);
  return lines.flatMap((line) => {
    const { user, verb, requestURI, objectRef, responseStatus } = JSON.parse(line) as AuditEvent;
    if (objectRef?.resource === undefined) return [];
    const { apiGroup = "", resource, subresource, namespace = "" } = objectRef;
    const path = subresource === undefined ? resource : `${resource}/${subresource}`;
    const isDryRun = requestURI.includes("dryRun=");
    const status = responseStatus?.code ?? 0;
    return [{ user: user.username, verb, apiGroup, resource: path, namespace, status, isDryRun }];
  });
}
