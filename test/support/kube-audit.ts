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
  /** The name of the object; empty for a list and for a creation under a generated name. */
  readonly name: string;
  /** When the API server got the request, in epoch milliseconds. */
  readonly receivedAt: number;
  /** When it had answered, in epoch milliseconds. */
  readonly answeredAt: number;
  /** HTTP status. */
  readonly status: number;
  readonly isDryRun: boolean;
  /** The object as the answer shows it; null unless answers are recorded. */
  readonly answer: unknown;
}

/** The users whose requests are recorded, and how much of each request. */
export interface AuditOptions {
  readonly group: string;
  /** Whether only writes are recorded, those of nodes with their answers. */
  readonly onlyWrites?: boolean;
}

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly objectRef?: {
    apiGroup?: string;
    resource?: string;
    subresource?: string;
    namespace?: string;
    name?: string;
  };
  readonly responseObject?: unknown;
  readonly responseStatus?: { readonly code: number };
}

const WRITES = ["create", "update", "patch", "delete", "deletecollection"];

const logIn = (folder: string): string => join(folder, "audit.log");

/** Arguments that make the server record the requests of a group; none without one. */
export function auditArgs(folder: string, options: AuditOptions | undefined): string[] {
  if (options === undefined) return [];
  const policy = join(folder, "audit-policy.json");
  const { group, onlyWrites = false } = options;
  const ofGroup = { userGroups: [group], omitStages: ["RequestReceived"], ...(onlyWrites && { verbs: WRITES }) };
  const nodes = {
    ...ofGroup,
    level: "RequestResponse",
    resources: [{ group: "", resources: ["nodes", "nodes/status"] }],
  };
  // Requests are recorded with their answers; a watch is recorded only when it ends, by a server of 1.20.
  const rules = [...(onlyWrites ? [nodes] : []), { ...ofGroup, level: "Metadata" }, { level: "None" }];
  writeFileSync(policy, JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }));
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${logIn(folder)}`];
}

/** The requests recorded so far, except those without a resource. */
export function readAudit(folder: string): AuditedRequest[] {
  if (!existsSync(logIn(folder))) return [];
  const lines = readFileSync(logIn(folder), "utf8").split("\n").slice(0, -1);
  return lines.flatMap((line) => {
    const event = JSON.parse(line) as AuditEvent;
    const { objectRef } = event;
    if (objectRef?.resource === undefined) return [];
    const { apiGroup = "", resource, subresource, namespace = "", name = "" } = objectRef;
    return {
      user: event.user.username,
      verb: event.verb,
      apiGroup,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      namespace,
      name,
      receivedAt: Date.parse(event.requestReceivedTimestamp),
      answeredAt: Date.parse(event.stageTimestamp),
      status: event.responseStatus?.code ?? 0,
      isDryRun: event.requestURI.includes("dryRun="),
      answer: event.responseObject ?? null,
    };
  });
}
