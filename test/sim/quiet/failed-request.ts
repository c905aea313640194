/**
 * The one request of Vigil that fails in a quiet run: the n-th of a verb and a kind is refused, is never answered, or
 * loses its reply. It knows no rule of Vigil.
 */
import type { Random, Stop } from "../../../protocols/ports.ts";
import type { StorageName } from "../../../services/sandbox/apiserver/resources.ts";
import type { Call, Verb } from "../../../services/sandbox/apiserver/routes.ts";
import type { Fault } from "../../support/faulty-apiserver.ts";
import { between, oneOf } from "../chance.ts";
import type { Reach } from "../meddler.ts";

/** Which request fails. */
interface Target {
  readonly verbs: readonly Verb[];
  /** Null for any kind. */
  readonly storage: StorageName | null;
  /** Absent for any subresource. */
  readonly subresource?: string;
  /** The n-th such request fails, and n is at most this. */
  readonly nthMax: number;
}

/** About as many as a quiet run sends, by the steps of a node that fails and recovers. */
const TARGETS: readonly Target[] = [
  { verbs: ["get"], storage: "leases", nthMax: 8 },
  { verbs: ["patch"], storage: "nodes", subresource: "status", nthMax: 4 },
  { verbs: ["get"], storage: "nodes", nthMax: 16 },
  { verbs: ["patch"], storage: "nodes", subresource: "", nthMax: 20 },
  { verbs: ["patch"], storage: "pods", nthMax: 8 },
  { verbs: ["delete"], storage: "pods", nthMax: 4 },
  { verbs: ["list"], storage: null, nthMax: 1 },
  { verbs: ["watch"], storage: null, nthMax: 1 },
  { verbs: ["create", "update", "patch", "delete"], storage: null, nthMax: 60 },
];
/** The resources with watches that end: they are listed or watched again. */
const WATCHED: readonly StorageName[] = ["nodes", "pods", "leases"];

/** The refusals of an API server that is well a moment later, or of a webhook. */
const REFUSALS: readonly Fault[] = [
  ...[401, 409, 500, 503, 504].map((code) => ({ kind: "status", code }) as const),
  { kind: "status", code: 403, message: 'admission webhook "a.example.com" denied the request: not now' },
  { kind: "status", code: 429, retryAfterSeconds: 1 },
];

/** After how long Vigil gives up a request without an answer: a read, a write, a list of many objects. */
const READ_PATIENCE_MS = 10_000;
const WRITE_PATIENCE_MS = 15_000;
const LIST_PATIENCE_MS = 60_000;

/** A request that failed, on the wall clock. */
export interface FailedRequest {
  /** When its client knows. */
  readonly knownAtMs: number;
  /** Whether a view of a resource had to wait for it: without a view no silence counts. */
  readonly isOfView: boolean;
}

/** Makes one request fail. The returned function removes the fault if no request has met it. */
export function failOneRequest(reach: Reach, random: Random): Stop {
  const { world, count } = reach;
  const target = oneOf(random, TARGETS);
  const nth = between(random, 1, target.nthMax);
  const fault = oneOf<Fault>(random, [oneOf(random, REFUSALS), { kind: "stall" }, { kind: "lostReply" }]);
  const isView = target.verbs.some(isViewing);
  const storage = isView ? oneOf(random, WATCHED) : target.storage;
  let met = 0;
  const takeBack = world.api.faults.add({
    fault,
    times: 1,
    when: (call) => {
      if (world.writer === "" || !isOf(call, { ...target, storage })) return false;
      met += 1;
      if (met < nth) return false;
      const what = `${call.verb} ${call.resource.plural}${call.subresource === "" ? "" : `/${call.subresource}`}`;
      const how = fault.kind === "status" ? `${fault.code}` : fault.kind;
      reach.struck(`${what} ${call.name} of ${world.writer}: ${how}`);
      count(`one request failed: ${call.verb}, ${fault.kind}`);
      const knownAtMs = world.clock.wallMs() + (fault.kind === "stall" ? patienceMs(call) : 0);
      world.failedRequest = { knownAtMs, isOfView: isViewing(call.verb) };
      return true;
    },
  });
  if (!isView || storage === null) return takeBack;
  // As a server ends every watch after some minutes. It is opened again, and a list of one object says whether it shows
  // all; of what is compacted, everything is listed.
  const isCompacted = target.verbs.includes("list") && random() < 0.5;
  const ending = world.clock.after(between(random, 5_000, 60_000), () => {
    if (isCompacted) world.api.faults.compact();
    world.api.faults.cutWatches({ storage, how: "end" });
  });
  return () => {
    ending.cancel();
    takeBack();
  };
}

function isOf(call: Call, { verbs, storage, subresource }: Target): boolean {
  if (!verbs.includes(call.verb)) return false;
  if (storage !== null && call.resource.storage !== storage) return false;
  return subresource === undefined || call.subresource === subresource;
}

function isViewing(verb: Verb): boolean {
  return verb === "list" || verb === "watch";
}

function patienceMs({ verb }: Call): number {
  if (verb === "get") return READ_PATIENCE_MS;
  return verb === "list" ? LIST_PATIENCE_MS : WRITE_PATIENCE_MS;
}
