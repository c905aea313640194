/**
 * An API server that stores nothing, in a separate process: it answers every write with 200 or 201 and a fixed object
 * over TLS. A benchmark against it measures its client alone.
 */
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { loadOptions, sendReport } from "./load.ts";

const { tls: { cert, key } = { cert: "", key: "" } } = loadOptions();
const UID = "7a2d6a36-9f0b-4f0e-8d4e-0f2f3a1b5c6d";
const STAMPS = { uid: UID, resourceVersion: "123456789", creationTimestamp: "2026-01-01T00:00:00Z" };
const MANAGED_FIELDS = [
  {
    manager: "vigil",
    operation: "Update",
    apiVersion: "coordination.k8s.io/v1",
    time: "2026-01-01T00:00:00Z",
    fieldsType: "FieldsV1",
    fieldsV1: {
      "f:metadata": { "f:ownerReferences": { ".": {}, [`k:{"uid":"${UID}"}`]: {} } },
      "f:spec": { "f:holderIdentity": {}, "f:leaseDurationSeconds": {}, "f:renewTime": {} },
    },
  },
];
const LEASE = {
  kind: "Lease",
  apiVersion: "coordination.k8s.io/v1",
  metadata: {
    name: "n-100000",
    namespace: "kube-node-lease",
    ...STAMPS,
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n-100000", uid: UID }],
    managedFields: MANAGED_FIELDS,
  },
  spec: { holderIdentity: "n-100000", leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.000000Z" },
};
const MISSING = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound", code: 404, message: "none" };
const VERSION = { major: "1", minor: "34", gitVersion: "v1.34.0" };
const RENEWED = answerOf(200, LEASE);
const WATCHED = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
const LENGTH = /\r\ncontent-length: *(\d+)/i;

let renewals = 0;

function answerOf(status: number, object: unknown): string {
  const body = JSON.stringify(object);
  const head = `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n`;
  return `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** The answer to one request. */
function answered(method: string, path: string, body: string): string {
  if (method === "PUT") {
    renewals++;
    return RENEWED;
  }
  if (method === "POST") {
    const object = JSON.parse(body);
    return answerOf(201, { ...object, metadata: { ...object.metadata, ...STAMPS } });
  }
  if (method === "PATCH") return answerOf(200, { kind: "Node", metadata: { name: "n", ...STAMPS } });
  if (path === "/version") return answerOf(200, VERSION);
  if (path === "/renewals") return answerOf(200, { renewals });
  if (path.includes("watch=")) return WATCHED;
  if (/\/leases\/./.test(path)) return answerOf(404, MISSING);
  return answerOf(200, { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [] });
}

function serve(socket: TLSSocket): void {
  let rest = "";
  socket.setNoDelay(true).setEncoding("latin1");
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: string) => {
    rest += chunk;
    let answers = "";
    for (;;) {
      const headEnd = rest.indexOf("\r\n\r\n");
      if (headEnd < 0) break;
      const head = rest.slice(0, headEnd);
      const end = headEnd + 4 + Number(LENGTH.exec(head)?.[1] ?? 0);
      if (rest.length < end) break;
      const [method = "", path = ""] = head.split(" ", 2);
      answers += answered(method, path, rest.slice(headEnd + 4, end));
      rest = rest.slice(end);
    }
    if (answers !== "") socket.write(answers, "latin1");
  });
}

const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, serve);
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  sendReport({ kind: "filled", url: `https://127.0.0.1:${port}`, createMicros: {} });
});
process.on("disconnect", () => process.exit());
