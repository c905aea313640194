/** Describes a node, a pod or an Event as text, one line for each field that controllers change. */

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** The part of an API object that is compared. */
export interface ApiObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly { readonly key: string; readonly effect: string; readonly timeAdded?: string }[];
  };
  readonly status?: { readonly conditions?: readonly Condition[]; readonly reason?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly source?: { readonly component?: string };
  readonly involvedObject?: { readonly kind: string; readonly name: string; readonly uid?: string };
}

/** An object's name and its compared fields with their values. */
interface Facts {
  readonly title: string;
  readonly facts: ReadonlyMap<string, string>;
  /**
   * Since when a field has had its value by the object's own stamps, in wall milliseconds; only for fields that have a
   * stamp.
   */
  readonly stamps: ReadonlyMap<string, number>;
}

/** The field name of a taint. */
const taintMatter = (key: string, effect: string): string => `${key.replace(/^.*\//, "")}:${effect}`;

/** The compared fields of a node, a pod or an Event. */
export function comparedFieldsOf(object: ApiObject): Facts {
  const { kind, metadata } = object;
  if (kind === "Event") return eventFacts(object);
  const title = `${kind} ${metadata.name}`;
  const facts = new Map(kind === "Node" ? nodeFacts(object) : podFacts(object));
  return { title, facts, stamps: new Map(stampsOf(object)) };
}

/** When taints were set and when deletions were requested. */
function stampsOf({ metadata, spec: { taints = [] } = {} }: ApiObject): [string, number][] {
  const stamps = taints.flatMap(({ key, effect, timeAdded }): [string, number][] =>
    timeAdded === undefined ? [] : [[taintMatter(key, effect), Date.parse(timeAdded)]],
  );
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  if (deletionTimestamp === undefined) return stamps;
  return [...stamps, ["deletion", Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000]];
}

function nodeFacts({ spec = {}, status = {} }: ApiObject): [string, string][] {
  const { taints = [] } = spec;
  const facts = (status.conditions ?? []).map(({ type, status: is, reason, message }): [string, string] => [
    type,
    is === "Unknown" ? `Unknown, ${reason}: ${message}` : is,
  ]);
  for (const { key, effect, timeAdded } of taints) {
    facts.push([taintMatter(key, effect), timeAdded === undefined ? "set" : "set, with its time"]);
  }
  if (taints.filter(({ effect }) => effect === "NoExecute").length > 1) facts.push(["NoExecute taints", "two at once"]);
  return facts;
}

function podFacts({ metadata, status = {} }: ApiObject): [string, string][] {
  const facts: [string, string][] = [];
  for (const { type, status: is, reason, message } of status.conditions ?? []) {
    if (type === "Ready") facts.push([type, is]);
    if (type === "DisruptionTarget") facts.push([type, `${is}, ${reason}: ${message}`]);
  }
  if (status.reason !== undefined) facts.push(["reason", status.reason]);
  if (metadata.deletionTimestamp !== undefined) {
    facts.push(["deletion", `requested, with ${metadata.deletionGracePeriodSeconds} s of grace`]);
  }
  return facts;
}

/** An Event never changes: its message is its only field, and its own name is not compared. */
function eventFacts({ type, reason, message, source, involvedObject }: ApiObject): Facts {
  const { kind = "", name = "", uid } = involvedObject ?? {};
  const whose = `${kind} ${name}${uid === undefined ? " without uid" : ""}`;
  return {
    title: `Event ${type} ${reason} of ${source?.component} about ${whose}`,
    facts: new Map([["message", message ?? ""]]),
    stamps: new Map(),
  };
}
