/**
 * Taints with numbers as values, and pods that tolerate numbers below or above a limit, by Lt and Gt. Whether Vigil
 * compares depends on its feature gate. The API server that stored the tolerations had the gate on.
 */
import type { Random, Stop } from "../../../protocols/ports.ts";
import { apiTime } from "../../../services/domain/api-time.ts";
import { isObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { Stored } from "../../../services/sandbox/apiserver/store/stored.ts";
import { oneOf } from "../chance.ts";
import type { CheckedToleration } from "../invariants.ts";
import { lasting, type Meddler, type Reach } from "../meddler.ts";
import type { World } from "../world.ts";

const KEY = "example.com/level";
/** Values of taints, which cannot begin with a sign. The last ones are no integers that a comparison covers. */
const LEVELS = ["0", "7", "10", "9223372036854775807", "9223372036854775808", "007", "high"];
const LIMITS = ["-10", "0", "7", "8"];

/** The classes, by name. */
export const COMPARED_TAINT_FAULTS = {
  comparedTaints: {
    everySeconds: 20,
    act: (reach, random) => {
      const pod = reach.world.anyPod(random);
      const tolerations = drawTolerations(random);
      const level = oneOf(random, LEVELS);
      const isStamped = random() < 0.5;
      if (pod === null || pod.terminating) return undefined;
      reach.count("taint with a compared value");
      storeTolerations(reach.world, pod, tolerations);
      const end = setLevel(reach, pod.node, level, isStamped);
      return random() < 0.6 ? lasting(reach, random, 90, end) : undefined;
    },
  },
} satisfies Record<string, Meddler>;

/** A comparison, and now and then another toleration behind it, which decides only where the comparison does not. */
function drawTolerations(random: Random): CheckedToleration[] {
  const timed = (): Partial<CheckedToleration> => {
    const tolerationSeconds = oneOf(random, [null, 0, 15, 40]);
    return tolerationSeconds === null ? {} : { tolerationSeconds };
  };
  const operator = oneOf(random, ["Lt", "Gt"]);
  const compared = { key: KEY, operator, value: oneOf(random, LIMITS), effect: "NoExecute", ...timed() };
  return random() < 0.5 ? [compared] : [compared, { key: KEY, operator: "Exists", effect: "NoExecute", ...timed() }];
}

/** The embedded API server knows no comparison and would refuse it. */
function storeTolerations(world: World, stored: Stored, tolerations: readonly CheckedToleration[]): void {
  const { namespace, name, uid, revision, node, phase, terminating } = stored;
  const object = stored.object();
  const spec = isObject(object.spec) ? object.spec : {};
  const json = JSON.stringify({ ...object, spec: { ...spec, tolerations } });
  const changed = new Stored({ namespace, name, uid, revision, node, phase, terminating, json });
  const { store } = world.api;
  world.asWorld(() => store.put("pods", changed.at(store.nextRevision())));
}

/** A person gives a node a level. The returned function removes it. */
function setLevel({ world }: Reach, node: string, value: string, isStamped: boolean): Stop {
  const stamp = isStamped ? { timeAdded: apiTime(world.clock.wallMs()) } : {};
  const set = (added: readonly { key: string; value: string; effect: string }[]): void =>
    world.edit("nodes", node, (object) => {
      const spec = isObject(object.spec) ? object.spec : {};
      const taints = Array.isArray(spec.taints) ? spec.taints : [];
      const others = taints.filter((taint) => isObject(taint) && taint.key !== KEY);
      return { ...object, spec: { ...spec, taints: [...others, ...added] } };
    });
  set([{ key: KEY, value, effect: "NoExecute", ...stamp }]);
  return () => set([]);
}
