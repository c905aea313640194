/** Which messages are the last state of an object, under which key it is stored, and when it is deleted. */
import type { AnyMessage } from "../../../protocols/messages.ts";
import { token } from "../../../protocols/subjects.ts";
import { definitionOf } from "../../../protocols/wire.ts";
import { type ByType, dispatch } from "../by-type.ts";
import type { ClusterState } from "../state/cluster-state.ts";

/** What to do with the stored last state of an object. */
export interface LastState {
  /** For example `judged.node.<node>`; every part is encoded as in a subject. */
  readonly key: string;
  readonly action: "keep" | "forget";
}

const NODE_FIELDS = ["readiness", "ready", "eviction", "zone"] as const;
const ZONE_FIELDS = ["state", "size", "notReady", "halted"] as const;

const STATES: ByType<[before: ClusterState], LastState | null> = {
  "judged.node": (message, before) => {
    const known = before.nodes.get(message.body.node);
    const same = known?.uid === message.body.uid && agree(known.judged, message.body, NODE_FIELDS);
    return same ? null : { key: keyOf(message), action: "keep" };
  },
  "judged.zone": (message, before) => {
    const same = agree(before.zones.get(message.body.zone)?.judged, message.body, ZONE_FIELDS);
    return same ? null : { key: keyOf(message), action: "keep" };
  },
  "judged.pod": (message) => ({
    key: keyOf(message),
    action: message.body.eviction === "none" ? "forget" : "keep",
  }),
  "done.write": ({ body }) => {
    const isGone = body.ask === "asked.eviction" && (body.outcome === "ok" || body.outcome === "gone");
    return isGone ? { key: ["judged.pod", token(body.namespace), token(body.name)].join("."), action: "forget" } : null;
  },
  "observed.gone": ({ body }) => ({ key: `judged.node.${token(body.node)}`, action: "forget" }),
};

/** What a message does to its object's last state, given the state before it; null for nothing. */
export function lastStateOf(message: AnyMessage, before: ClusterState): LastState | null {
  return dispatch(STATES, message, before) ?? null;
}

function agree<F extends string>(
  known: Record<F, unknown> | null | undefined,
  next: Record<F, unknown>,
  fields: readonly F[],
): boolean {
  return known !== null && known !== undefined && fields.every((field) => known[field] === next[field]);
}

function keyOf({ type, body }: AnyMessage): string {
  return [type, ...definitionOf(type).key(body).map(token)].join(".");
}
