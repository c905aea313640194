/**
 * False stamps of pods: when a pod was bound and when it started, by a scheduler or a kubelet with a wrong clock, or by
 * a user who may write the status of pods. A pod has one false stamp at most, and no process repairs it.
 */
import type { Random } from "../../../protocols/ports.ts";
import { apiTime } from "../../../services/domain/api-time.ts";
import { childList, childObject, type Json, type JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { storedAs } from "../../../services/sandbox/apiserver/resources.ts";
import { between, oneOf } from "../chance.ts";
import type { Meddler } from "../meddler.ts";
import type { World } from "../world.ts";

/** How far a stamp may be from the truth, in milliseconds. */
const LIE_MAX_MS = 600_000;
/** In how many cases the pod is a new one, on a node that may be tainted already. */
const NEW_SHARE = 0.6;

/** The ends of what an API server stores: it refuses a text that is no instant. */
const ABSURD: readonly Json[] = [null, "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"];

/** What a lie says in place of the truth; undefined where the stamp is missing. */
const LIES: Readonly<Record<string, (nowAt: number, random: Random) => Json | undefined>> = {
  "stamp of a pod ahead": (nowAt, random) => apiTime(nowAt + between(random, 5_000, LIE_MAX_MS)),
  "stamp of a pod behind": (nowAt, random) => apiTime(nowAt - between(random, 5_000, LIE_MAX_MS)),
  "stamp of a pod missing": () => undefined,
  "stamp of a pod absurd": (_nowAt, random) => oneOf<Json>(random, ABSURD),
};

/** The situations that the class brings about. */
export const LYING_STAMP_SITUATIONS: readonly string[] = Object.keys(LIES);

/** The classes, by name. */
export const LYING_STAMP_FAULTS = {
  lyingStamps: {
    everySeconds: 10,
    act: (reach, random) => {
      const { world } = reach;
      const [situation, lie] = oneOf(random, Object.entries(LIES));
      const fields = oneOf(random, [["scheduled"], ["scheduled", "started"], ["started"]]);
      const name = `pod-lying-${between(random, 1, 9_999)}`;
      const isNew = random() < NEW_SHARE;
      if (isNew) world.addPod(world.anyKubelet(random).name, name);
      const pod = isNew ? name : world.anyPod(random)?.name;
      if (pod === undefined || !isTruthful(world, pod)) return undefined;
      reach.count(situation);
      write(world, pod, { fields, stamp: lie(world.clock.wallMs(), random) });
      return undefined;
    },
  },
} satisfies Record<string, Meddler>;

const NAMESPACE = "default";
/** The condition that marks a pod with a false stamp. It gets no second one. */
const MARK = { type: "example.com/Lying", status: "True" };

function isTruthful({ api }: World, name: string): boolean {
  const stored = api.store.collection("pods").get(NAMESPACE, name);
  if (stored === undefined || stored.terminating) return false;
  return !childList(childObject(stored.object(), "status"), "conditions").some(({ type }) => type === MARK.type);
}

function write(
  world: World,
  name: string,
  { fields, stamp }: { readonly fields: readonly string[]; readonly stamp: Json | undefined },
): void {
  const lying = (object: JsonObject, field: string): JsonObject => {
    const { [field]: _, ...others } = object;
    return stamp === undefined ? others : { ...others, [field]: stamp };
  };
  world.asWorld(() =>
    world.api.registry.update({ resource: storedAs("pods"), namespace: NAMESPACE, name }, "status", (pod) => {
      const status = childObject(pod, "status");
      const conditions = childList(status, "conditions").map((condition) =>
        condition.type === "PodScheduled" && fields.includes("scheduled")
          ? lying(condition, "lastTransitionTime")
          : condition,
      );
      const started = fields.includes("started") ? lying(status, "startTime") : status;
      return { ...pod, status: { ...started, conditions: [...conditions, MARK] } };
    }),
  );
}
