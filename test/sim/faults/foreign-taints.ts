/** Foreign controllers that change taints: they stamp them again, restore them, remove ours, and repeat that. */
import type { Random, Stop } from "../../../protocols/ports.ts";
import { apiTime } from "../../../services/domain/api-time.ts";
import { childList, isObject, type JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { between, oneOf } from "../chance.ts";
import type { CheckedNode } from "../invariants.ts";
import { lasting, type Meddler, type Reach } from "../meddler.ts";
import type { World } from "../world.ts";

const OURS = ["not-ready", "unreachable"].map((name) => `node.kubernetes.io/${name}`);
/** How far a stamp that another client sets may be from the present, in milliseconds. */
const STAMP_MAX_MS = 600_000;
/** How often others change one of our taints on one node in a run. Contests count what Vigil changes back. */
const ROUNDS_MAX = 3;
const ROUND_MS = 7_000;
/** How often they did so far, by node and taint. */
const ROUNDS = new WeakMap<World, Map<string, number>>();
/** Worlds in which one controller has fought already: two of them would never end. */
const WITH_FIGHT = new WeakSet<World>();

/** The classes, by name. */
export const FOREIGN_TAINT_FAULTS = {
  foreignTaints: {
    everySeconds: 20,
    act: (reach, random) => oneOf(random, [restamp, restamp, bringBack, removeTaint, insist])(reach, random),
  },
} satisfies Record<string, Meddler>;

/** Sets another `timeAdded` on some NoExecute taint, or removes it. */
function restamp(reach: Reach, random: Random): undefined {
  const { world, count } = reach;
  const name = anyTainted(reach, random);
  const at = world.clock.wallMs() + between(random, -STAMP_MAX_MS, STAMP_MAX_MS);
  const stamp = random() < 0.8 ? { timeAdded: apiTime(at) } : {};
  if (name === null) return;
  count("taint stamped by others");
  editTaints(reach, name, (taints) =>
    taints.map((taint) => {
      const { timeAdded: _, ...unstamped } = taint;
      return taint.effect === "NoExecute" ? { ...unstamped, ...stamp } : taint;
    }),
  );
}

/** Adds one of our taints to a node, whatever its state. */
function bringBack(reach: Reach, random: Random): Stop | undefined {
  const { name } = reach.world.anyKubelet(random);
  const [key, effect] = [oneOf(random, OURS), oneOf(random, ["NoExecute", "NoSchedule"])];
  put(reach, name, key, effect);
  return random() < 0.5 ? lasting(reach, random, 30, () => editTaints(reach, name, without(key, effect))) : undefined;
}

/** Removes our NoExecute taint from a node that needs it. */
function removeTaint(reach: Reach, random: Random): undefined {
  const name = anyTainted(reach, random);
  if (name === null) return;
  reach.count("our taint taken off by others");
  for (const key of OURS) remove(reach, name, key, "NoExecute");
}

/** Reverts the changes of our taints on a node, a few times. */
function insist(reach: Reach, random: Random): Stop | undefined {
  const { world, count } = reach;
  const { name } = world.anyKubelet(random);
  const key = oneOf(random, OURS);
  const wantsIt = random() < 0.5;
  if (WITH_FIGHT.has(world)) return undefined;
  WITH_FIGHT.add(world);
  let isOver = false;
  const round = (left: number): void => {
    if (isOver || left === 0) return;
    count("fight over a taint");
    if (wantsIt) put(reach, name, key, "NoExecute");
    else remove(reach, name, key, "NoExecute");
    world.clock.after(ROUND_MS, () => round(left - 1));
  };
  round(ROUNDS_MAX);
  return () => {
    isOver = true;
  };
}

function put(reach: Reach, name: string, key: string, effect: string): void {
  if (!mayInsist(reach, `${name} ${key}:${effect}`)) return;
  reach.count("taint brought back by others");
  const timeAdded = apiTime(reach.world.clock.wallMs());
  editTaints(reach, name, (taints) => [...without(key, effect)(taints), { key, effect, timeAdded }]);
}

function remove(reach: Reach, name: string, key: string, effect: string): void {
  if (mayInsist(reach, `${name} ${key}:${effect}`)) editTaints(reach, name, without(key, effect));
}

/** Counts a change of a taint of a node; false when others have changed it often enough. */
function mayInsist({ world }: Reach, taint: string): boolean {
  const rounds = ROUNDS.get(world) ?? new Map<string, number>();
  ROUNDS.set(world, rounds);
  const round = (rounds.get(taint) ?? 0) + 1;
  rounds.set(taint, round);
  return round <= ROUNDS_MAX;
}

function without(key: string, effect: string): (taints: readonly JsonObject[]) => JsonObject[] {
  return (taints) => taints.filter((taint) => taint.key !== key || taint.effect !== effect);
}

function anyTainted({ world }: Reach, random: Random): string | null {
  const tainted = world
    .objects<CheckedNode>("nodes")
    .filter(({ spec }) => spec?.taints?.some(({ effect }) => effect === "NoExecute") === true);
  return tainted.length === 0 ? null : oneOf(random, tainted).metadata.name;
}

function editTaints(
  { world }: Reach,
  name: string,
  change: (taints: readonly JsonObject[]) => readonly JsonObject[],
): void {
  world.edit("nodes", name, (node) => {
    const spec = isObject(node.spec) ? node.spec : {};
    return { ...node, spec: { ...spec, taints: [...change(childList(spec, "taints"))] } };
  });
}
