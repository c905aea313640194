/**
 * Reads an API server without a cache: one answer, or the changes from now on. A measurement must not use much CPU
 * itself.
 */
import type { Stop, Wire } from "../../protocols/ports.ts";
import { LineSplitter } from "../../services/platform/kube/watch/stream.ts";

/** An object as the API writes it, in the fields that benchmarks use. */
export interface RawObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly renewTime?: string;
    readonly taints?: readonly { readonly key: string; readonly effect: string }[];
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** A list of objects. */
export interface RawList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly RawObject[];
}

const HEADERS = { accept: "application/json" };

/** The path of the node leases. */
export const LEASES_PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Reads a list; rejects when it is not answered with 200. */
export async function listOf(wire: Wire, path: string): Promise<RawList> {
  return JSON.parse(await ask(wire, { method: "GET", path, headers: HEADERS, body: null })) as RawList;
}

/** The version of the API server, such as `v1.36.2` and 36; rejects when it is not answered with 200. */
export async function serverVersionOf(wire: Wire): Promise<{ readonly gitVersion: string; readonly minor: number }> {
  const text = await ask(wire, { method: "GET", path: "/version", headers: HEADERS, body: null });
  const { gitVersion, minor } = JSON.parse(text) as { readonly gitVersion: string; readonly minor: string };
  return { gitVersion, minor: Number.parseInt(minor, 10) };
}

/**
 * Merges these fields into an object; rejects when it is not answered with 200. A strategic merge adds to lists of
 * conditions, where the other one replaces them.
 */
export async function patch(
  wire: Wire,
  path: string,
  fields: object,
  kind: "merge" | "strategic-merge" = "merge",
): Promise<void> {
  const headers = { ...HEADERS, "content-type": `application/${kind}-patch+json` };
  await ask(wire, { method: "PATCH", path, headers, body: JSON.stringify(fields) });
}

/** Deletes an object; rejects when it is not answered with 200. */
export async function remove(wire: Wire, path: string): Promise<void> {
  await ask(wire, { method: "DELETE", path, headers: HEADERS, body: null });
}

/** The status of the condition Ready; undefined without one. */
export function readyOf(status: RawObject["status"]): string | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready")?.status;
}

function ask(wire: Wire, request: Parameters<Wire["send"]>[0]): Promise<string> {
  const chunks: Uint8Array[] = [];
  let status = 0;
  const what = `${request.method} ${request.path}`;
  return new Promise((resolve, reject) => {
    wire.send(request, {
      response: (answered) => {
        status = answered;
      },
      data: (chunk) => chunks.push(chunk.slice()),
      end: () => {
        const text = Buffer.concat(chunks).toString();
        if (status === 200) resolve(text);
        else reject(new Error(`${what}: ${status} ${text}`));
      },
      failed: (problem) => reject(new Error(`${what}: ${problem.message}`)),
    });
  });
}

/** Reports each object of a collection that is written from now on, with the wall time of its arrival. */
export async function changesOf(
  wire: Wire,
  path: string,
  changed: (object: RawObject, atMs: number) => void,
): Promise<Stop> {
  const { metadata } = await listOf(wire, `${path}?limit=1`);
  const lines = new LineSplitter();
  const exchange = wire.send(
    {
      method: "GET",
      path: `${path}?watch=1&resourceVersion=${metadata.resourceVersion}`,
      headers: HEADERS,
      body: null,
    },
    {
      response: () => undefined,
      data: (chunk) => {
        const atMs = Date.now();
        lines.push(chunk, (line) => changed(JSON.parse(Buffer.from(line).toString()).object, atMs));
      },
      end: () => undefined,
      failed: () => undefined,
    },
  );
  return () => exchange.abort();
}
