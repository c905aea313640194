/**
 * Sends hostile messages to every service and hostile objects to every projection. Each round has a cluster of its own
 * on virtual time; a service that throws fails the round.
 */
import { frameId } from "../../protocols/frame.ts";
import type { LedgerReader } from "../../protocols/ledger-reader.ts";
import { MESSAGES, type MessageType } from "../../protocols/messages.ts";
import type { Random, Service } from "../../protocols/ports.ts";
import { subjectOf } from "../../protocols/subjects.ts";
import { decode, definitionOf, MalformedMessage } from "../../protocols/wire.ts";
import { startLedger } from "../../services/ledger/ledger.service.ts";
import { projectLease, projectNode, projectPod } from "../../services/platform/kube/watch/projection.ts";
import { Interner } from "../../services/structures/interner.ts";
import { readGolden } from "../protocols/golden.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";
import { seededRandom } from "../support/random.seeded.ts";
import { oneOf, spoiled } from "./hostile.ts";

/** The results of a round's cases. */
export interface FuzzCount {
  readonly messages: number;
  /** Messages that were well formed by chance, so that services acted on them. */
  readonly admitted: number;
  readonly objects: number;
}

/** Objects as an API server might hold them, with every field that Vigil reads. */
const OBJECTS: readonly unknown[] = ["Node", "Pod", "Lease"].map(objectOf);
const PROJECTIONS = [projectNode, projectPod, projectLease];
/** How much time passes after a message, in milliseconds. Pulses, graces and retries occur within it. */
const STEP_MS = 250;

/**
 * Runs this many hostile messages and as many objects. Throws the error of a service or a reader, with the seed in
 * front.
 */
export function fuzzRound(seed: number, cases: number): FuzzCount {
  const random = seededRandom(seed);
  const world = new EvictionWorld();
  world.addZone("a", 3);
  for (const name of ["a-0", "a-1"]) world.addTolerantPod(name, `pod-of-${name}`);
  let reader: LedgerReader | null = null;
  const ledger: Service = (io) => {
    const started = startLedger(io);
    reader = started.reader;
    return started.stop;
  };
  world.start({ ...EVICTING, ledger }, { member: "vigil" });
  world.advance(5000);
  world.silence(["a-2"]);
  let admitted = 0;
  let last: unknown = null;
  try {
    for (let index = 1; index <= cases; index++) {
      last = spoiledObject(random);
      const message = spoiledMessage(world.received, random, index);
      last = message.frame;
      if (message.isAdmitted) admitted++;
      world.transport.publish(message.subject, message.payload);
      world.advance(STEP_MS);
      if (index % ASKED_EVERY === 0) askAll(reader);
      if (world.received.length > HEARD_MAX) world.received.splice(0, HEARD_MAX / 2);
    }
  } catch (error) {
    throw new Error(`seed ${seed}: ${JSON.stringify(last).slice(0, 2000)}`, { cause: error });
  } finally {
    world.stop();
  }
  return { messages: cases, admitted, objects: cases };
}

/** After how many cases the ledger is queried. */
const ASKED_EVERY = 50;
/** How many decisions and evictions are queried. */
const ANSWERS_MAX = 100;

/** Queries everything that a console can show, so that recorded text is formatted too. */
function askAll(reader: LedgerReader | null): void {
  if (reader === null) return;
  JSON.stringify([reader.overview(), reader.pendingEvictions(ANSWERS_MAX), reader.decisions(ANSWERS_MAX)]);
  for (const { name } of reader.nodes()) reader.explainNode(name);
  for (const { namespace, name } of reader.pendingEvictions(ANSWERS_MAX)) reader.explainPod(namespace, name, () => {});
}

/** How many real messages are kept for mutation. */
const HEARD_MAX = 1000;
const GOLDEN = readGolden().map(({ frame }) => frame);
const TYPES = Object.keys(MESSAGES) as MessageType[];

/** The parts of a message that are mutated. */
interface Said {
  readonly type: string;
  readonly at?: unknown;
  readonly body: unknown;
}

/** A message that some service of this cluster sent, or a golden one, from another member and with hostile values. */
function spoiledMessage(heard: readonly Said[], random: Random, sequence: number) {
  const type = oneOf(random, TYPES);
  const said = heard.filter((message) => message.type === type);
  const original = said.length > 0 && random() < 0.7 ? oneOf<Said>(random, said) : oneOf<Said>(random, goldenOf(type));
  const body = spoiled(original.body, random);
  const source = `${MESSAGES[type].from.split(", ")[0]}@mallory`;
  const frame = { v: 1, type, id: "", source, at: original.at, cause: null, body };
  const opened = decode(bytesOf(frame));
  const shard = opened instanceof MalformedMessage ? 0 : definitionOf(type).shard(opened.body as never);
  const payload = bytesOf({ ...frame, id: frameId(source, 1, type, shard, sequence) });
  // The bus subscribes by pattern, so that a subject of the right length reaches every reader.
  const subject = subjectOf("test", type, shard, MESSAGES[type].keyNames);
  return { frame, payload, subject, isAdmitted: !(opened instanceof MalformedMessage) };
}

function goldenOf(type: MessageType) {
  return GOLDEN.filter((frame) => frame.type === type);
}

/** Projects a mutated object in each possible way. An exception would end the list for all its objects. */
function spoiledObject(random: Random): unknown {
  const object = JSON.parse(JSON.stringify(spoiled(oneOf(random, OBJECTS), random)));
  for (const project of PROJECTIONS) project(object, { interner: new Interner(), problem: () => {} });
  return object;
}

function objectOf(kind: string): unknown {
  const time = "2026-01-01T00:00:00Z";
  const annotations = {
    "vigil.v1/taints-seen": JSON.stringify({ "node.kubernetes.io/unreachable:NoExecute": time }),
    "vigil.v1/taint-swap": JSON.stringify({
      timeAdded: time,
      first: { key: "k", since: time },
      second: { since: time },
    }),
  };
  const ownerReferences = [{ controller: true, kind: "DaemonSet", name: "d", uid: "u" }];
  const labels = { "topology.kubernetes.io/zone": "a" };
  const stamps = { creationTimestamp: time, deletionTimestamp: time, deletionGracePeriodSeconds: 30 };
  const taint = { key: "node.kubernetes.io/unreachable", value: "v", effect: "NoExecute", timeAdded: time };
  const condition = { type: "Ready", status: "True", reason: "r", lastHeartbeatTime: time, lastTransitionTime: time };
  const toleration = { key: "k", operator: "Exists", value: "v", effect: "NoExecute", tolerationSeconds: 300 };
  return {
    kind,
    metadata: {
      name: "a-0",
      namespace: "n",
      uid: "u",
      resourceVersion: "1",
      ...stamps,
      labels,
      annotations,
      ownerReferences,
    },
    spec: { nodeName: "a-0", renewTime: time, unschedulable: true, taints: [taint], tolerations: [toleration] },
    status: { phase: "Running", startTime: time, conditions: [condition, { ...condition, type: "PodScheduled" }] },
  };
}

function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
