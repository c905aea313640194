/**
 * Writes objects in the shape of JSON as Kubernetes protobuf, by a table of field numbers of its own. It writes what
 * tests need and reads nothing.
 */

/** What a field is; a table for a message or a list of them. */
type Kind = "text" | "integer" | "truth" | "time" | "microTime" | "labels" | "json" | "skipped" | Table;
interface Table {
  readonly [name: string]: readonly [number: number, kind: Kind];
}

const metadata: Table = {
  name: [1, "text"],
  generateName: [2, "text"],
  namespace: [3, "text"],
  selfLink: [4, "text"],
  uid: [5, "text"],
  resourceVersion: [6, "text"],
  generation: [7, "integer"],
  creationTimestamp: [8, "time"],
  deletionTimestamp: [9, "time"],
  labels: [11, "labels"],
  annotations: [12, "labels"],
  ownerReferences: [13, { kind: [1, "text"], name: [3, "text"], controller: [6, "truth"] }],
  managedFields: [17, { manager: [1, "text"], time: [4, "time"], fieldsV1: [7, "json"] }],
  /** No field of Kubernetes: numbers of every wire type that a later version might add. */
  later: [200, "skipped"],
};

const condition = (heartbeat: string, reason: number): Table => ({
  type: [1, "text"],
  status: [2, "text"],
  [heartbeat]: [3, "time"],
  lastTransitionTime: [4, "time"],
  reason: [reason, "text"],
  message: [6, "text"],
});

const taint: Table = { key: [1, "text"], value: [2, "text"], effect: [3, "text"], timeAdded: [4, "time"] };
const toleration: Table = {
  key: [1, "text"],
  operator: [2, "text"],
  value: [3, "text"],
  effect: [4, "text"],
  tolerationSeconds: [5, "integer"],
};

/** The kinds that can be written. */
export const TABLES = {
  Node: {
    metadata: [1, metadata],
    spec: [2, { podCIDR: [1, "text"], unschedulable: [4, "truth"], taints: [5, taint] }],
    status: [3, { conditions: [4, condition("lastHeartbeatTime", 5)] }],
  },
  Pod: {
    metadata: [1, metadata],
    spec: [2, { restartPolicy: [3, "text"], nodeName: [10, "text"], tolerations: [22, toleration] }],
    status: [3, { phase: [1, "text"], conditions: [2, condition("lastProbeTime", 5)], startTime: [7, "time"] }],
  },
  Lease: {
    metadata: [1, metadata],
    spec: [2, { holderIdentity: [1, "text"], leaseDurationSeconds: [2, "integer"], renewTime: [4, "microTime"] }],
  },
  Status: {
    status: [2, "text"],
    message: [3, "text"],
    reason: [4, "text"],
    details: [5, { causes: [4, { reason: [1, "text"], field: [3, "text"] }], retryAfterSeconds: [5, "integer"] }],
    code: [6, "integer"],
  },
} as const satisfies Record<string, Table>;

const COUNTED = 2;
const MICROS = 1_000_000;

/** The message of an object, without its envelope. */
export function encode(object: object, table: Table): Buffer {
  const values: Readonly<Record<string, unknown>> = { ...object };
  return Buffer.concat(Object.entries(table).flatMap(([name, field]) => fieldsOf(values[name], ...field)));
}

/** A message in the envelope that every answer has. */
export function enveloped(kind: string, message: Buffer): Buffer {
  const type = counted(1, Buffer.concat([counted(1, Buffer.from("v1")), counted(2, Buffer.from(kind))]));
  const rest = [counted(3, Buffer.alloc(0)), counted(4, Buffer.alloc(0))];
  return Buffer.concat([Buffer.from("k8s\0"), type, counted(2, message), ...rest]);
}

/** A list as a server answers it. */
export function encodedList(
  kind: "Node" | "Pod" | "Lease",
  { resourceVersion = "10", next = "", items }: { resourceVersion?: string; next?: string; items: readonly object[] },
): Buffer {
  const about = encode({ resourceVersion, next }, { resourceVersion: [2, "text"], next: [3, "text"] });
  const encoded = items.map((item) => counted(2, encode(item, TABLES[kind])));
  return enveloped(`${kind}List`, Buffer.concat([counted(1, about), ...encoded]));
}

function fieldsOf(value: unknown, number: number, kind: Kind): Buffer[] {
  // Go writes every text, also an empty one.
  if (kind === "text") return [counted(number, Buffer.from(typeof value === "string" ? value : ""))];
  if (kind === "skipped") return [oneOfEach(number)];
  if (value === undefined || value === null) return [];
  if (kind === "integer" || kind === "truth") return [varint(number, Number(value))];
  if (kind === "json") return [counted(number, counted(1, Buffer.from(JSON.stringify(value))))];
  if (kind === "labels") return Object.entries(value).map((entry) => counted(number, label(entry)));
  if (kind === "time" || kind === "microTime") return [counted(number, timestamp(value as string))];
  return (Array.isArray(value) ? value : [value]).map((message) => counted(number, encode(message, kind)));
}

function counted(number: number, content: Buffer): Buffer {
  return Buffer.concat([bare(BigInt(number * 8 + COUNTED)), bare(BigInt(content.length)), content]);
}

function varint(number: number, value: number): Buffer {
  return Buffer.concat([bare(BigInt(number * 8)), bare(BigInt.asUintN(64, BigInt(value)))]);
}

function oneOfEach(number: number): Buffer {
  const fixed64 = [bare(BigInt(number * 8 + 1)), Buffer.alloc(8, 0xff)];
  const fixed32 = [bare(BigInt((number + 1) * 8 + 5)), Buffer.alloc(4, 0xff)];
  return Buffer.concat([...fixed64, ...fixed32, varint(number + 2, -1), counted(number + 3, Buffer.alloc(3, 0xff))]);
}

function label([key, value]: readonly [string, unknown]): Buffer {
  return encode({ key, value }, { key: [1, "text"], value: [2, "text"] });
}

function timestamp(time: string): Buffer {
  const seconds = Math.floor(Date.parse(time) / 1000);
  const micros = Number((/\.(\d{1,6})/.exec(time)?.[1] ?? "").padEnd(6, "0"));
  return Buffer.concat([varint(1, seconds), varint(2, (micros * 1_000_000_000) / MICROS)]);
}

function bare(value: bigint): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 128n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  return Buffer.from([...bytes, Number(left)]);
}
