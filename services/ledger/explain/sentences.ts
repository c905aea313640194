/**
 * Every sentence of `vigil explain`. The policies choose sentences and fill them in; nothing else makes a `Sentence`.
 * `npm run fix` writes docs/explain.md from these tables, and the simulation checks each sentence of the present state
 * against the cluster.
 */

/**
 * A sentence with placeholders such as `{node}`, and the state or the message that it describes. `would` replaces it
 * where only shadow mode shows that state, with the same placeholders.
 */
export interface SentenceForm {
  readonly when: string;
  readonly text: string;
  readonly would?: string;
}

/** Sentences about a node. */
export const NODE_SENTENCES = {
  nodeGone: { when: "the node left the API", text: "Node {node} no longer exists." },
  nodeFoundGone: {
    when: "a write found the node gone, and the watch does not show that yet",
    text: "Node {node} no longer exists: a write at {at} found it gone ({detail}), and the watch does not show that yet.",
  },
  nodeUnobserved: {
    when: "the ledger has a history of the node, and its view is not synced yet",
    text: "This ledger has not observed node {node} since it started: {why}.",
  },
  nodeUnjudged: {
    when: "no `judged.node` has been received",
    text: "This ledger has received no judgement of node {node} yet.",
  },
  nodeReady: { when: "readiness `ready`", text: "Node {node} has been ready since {since} ({span})." },
  nodeNotReady: {
    when: "readiness `notReady`",
    text: "Node {node} has been NotReady since {since} ({span}): its kubelet reports Ready=False.",
  },
  nodeStarting: {
    when: "readiness `starting`",
    text: "Node {node} has been starting since {since} ({span}): its kubelet has not posted a Ready condition yet, and its grace period is {grace}.",
  },
  nodeUnknown: {
    when: "readiness `unknown`, last heartbeat known",
    text: "Node {node} has been unknown since {since} ({span}): its last heartbeat was seen at {heartbeat}, and its grace period is {grace}.",
  },
  nodeUnknownByStatus: {
    when: "readiness `unknown`, judged by a process that started later",
    text: "Node {node} has been unknown since {since} ({span}): its kubelet last posted its status at {heartbeat}.",
  },
  nodeNeverPosted: {
    when: "readiness `unknown`, condition reason `NodeStatusNeverUpdated`",
    text: "Node {node} has been unknown since {since} ({span}): its kubelet has never posted its status.",
  },
  nodeUnknownNoHeartbeat: {
    when: "readiness `unknown`, no heartbeat known to the judging process or shown by the API",
    text: "Node {node} has been unknown since {since} ({span}): its last heartbeat is not known.",
  },
  nodeUntainted: { when: "no NoExecute taint", text: "It carries no NoExecute taint." },
  nodeTainted: {
    when: "NoExecute taints",
    text: "It carries {taints}.",
    would: "It would carry {taints}.",
  },
  nodeTaintRemoved: {
    when: "NoExecute taints that shadow mode has not removed",
    text: "It would no longer carry {taints}.",
  },
  nodeExcluded: {
    when: "a label excludes it from disruption checks",
    text: "A label excludes it from disruption checks, so it does not count towards the state of its zone.",
  },
  nodeBlind: { when: "its shard is blind", text: "Vigil takes no action against it at present: {why}." },
} as const satisfies Record<string, SentenceForm>;

/** Sentences about a node's zone and its place in the eviction queue. */
export const QUEUE_SENTENCES = {
  zoneState: { when: "always", text: "Its zone {zone} is {state}: {notReady} of {size} not ready." },
  zoneQueue: {
    when: "nodes of the zone are queued",
    text: "Its zone {zone} is {state}: {notReady} of {size} not ready, {waiting} in the eviction queue.",
  },
  zoneSilent: {
    when: "the owner of the zone has stopped publishing",
    text: "Its zone {zone} was {state} at {at}, and its owner has published nothing since.",
  },
  queueUpstreams: {
    when: "waits, `--upstream=beside`",
    text: "It waits for upstream's controllers, which taint it and evict its pods at their own rate.",
  },
  queueHalted: {
    when: "waits, every zone is disrupted",
    text: "It waits: evictions are halted while every zone is disrupted, because the nodes are then probably not at fault.",
  },
  queueSmallZone: {
    when: "waits, in a small zone in PartialDisruption",
    text: "It waits: a small zone evicts nothing while it is in PartialDisruption.",
  },
  queueNever: {
    when: "waits, the eviction rate of the zone is 0",
    text: "It waits: the eviction rate of its zone is 0.",
  },
  queueUnknown: {
    when: "waits, the shard is blind or the zone has no owner",
    text: "It waits to be admitted for eviction, at a time that cannot be estimated at present.",
  },
  queueNotShown: {
    when: "waits, the API does not show it as not ready yet",
    text: "It joins the eviction queue of its zone once the API server shows it as not ready.",
  },
  queueMissing: {
    when: "waits, not in the queue",
    text: "It waits to be admitted for eviction, but is not in the queue of its zone at present.",
  },
  queuePlace: {
    when: "waits in the queue",
    text: "It is number {place} of {length} in the eviction queue: at the present rate, {rate}, it is admitted at {at}, in {span}.",
  },
  queueBehind: {
    when: "waits behind the nodes that the zone lists",
    text: "It is behind the first {count} of {length} in the eviction queue: at the present rate, {rate}, it is admitted after {at}, in more than {span}.",
  },
  queueTaints: {
    when: "waits (taint mode)",
    text: "Once admitted, it is tainted {taint}, and each of its pods stays for as long as it tolerates that taint.",
    would:
      "Once admitted, it would be tainted {taint}, and each of its pods would stay for as long as it tolerates that taint.",
  },
  queueDrains: {
    when: "waits (direct mode)",
    text: "Once it is admitted, its pods are deleted.",
    would: "Once it is admitted, its pods would be deleted.",
  },
  drainFrom: {
    when: "not ready for less than `--pod-eviction-timeout` (direct mode)",
    text: "It joins the eviction queue of its zone at {at}, in {span}: its pods are deleted no sooner.",
  },
  drainOverdue: {
    when: "not ready for longer than `--pod-eviction-timeout`, not queued (direct mode)",
    text: "It was due to join the eviction queue of its zone at {at}, but is not in it yet.",
  },
  drainEmpty: {
    when: "not ready, without a pod that a drain deletes (direct mode)",
    text: "It does not wait to be drained, because it has no pod that a drain would delete.",
  },
} as const satisfies Record<string, SentenceForm>;

/** Sentences about the last request for a node or a pod, by its outcome. */
export const REQUEST_SENTENCES = {
  requestOpen: { when: "no outcome yet", text: "{what} was requested at {at}, and its outcome is not known yet." },
  requestWritten: { when: "`ok`", text: "The API server accepted {what} at {at}, and the watch does not show it yet." },
  requestDenied: { when: "`denied`", text: "The API server denied {what} at {at}: {detail}." },
  requestThrottled: { when: "`throttled`", text: "The API server throttled {what} at {at}: {detail}." },
  requestFailed: { when: "`failed`", text: "{what} failed at {at}: {detail}." },
  requestUnknown: {
    when: "`unknown`",
    text: "The reply to {what} was lost at {at}, so it may have been carried out: {detail}.",
  },
  requestConflict: { when: "`conflict`", text: "{what} conflicted with another change at {at}: {detail}." },
  requestRefused: { when: "`refused`", text: "A live read ruled out {what} at {at}: {detail}." },
  requestGone: { when: "`gone`", text: "{what} was no longer needed at {at}: {detail}." },
  requestShadowed: {
    when: "`shadowed`",
    text: "{what} would have been written at {at}, but shadow mode writes nothing.",
  },
  retryAt: { when: "its writer retries", text: "It is retried at {at}." },
  retrySoon: { when: "its retry is due", text: "A retry is under way." },
  retryRequested: { when: "the service that requested it repeats it", text: "It is requested again within {span}." },
  retryGrant: {
    when: "its zone repeats it",
    text: "It is requested again when its node is next admitted for eviction.",
  },
} as const satisfies Record<string, SentenceForm>;

/** Sentences about a pod. */
export const POD_SENTENCES = {
  podUnread: { when: "the live read failed", text: "Pod {pod} could not be read from the API server: {why}." },
  podLastKnown: {
    when: "the live read failed, a request for its deletion stands",
    text: "This ledger knows the following about the last pod of that name.",
  },
  podUnnamed: {
    when: "the live read failed, no request for its deletion stands",
    text: "This ledger knows of no request to delete pod {pod}.",
  },
  podGone: { when: "no pod has that name", text: "Pod {pod} no longer exists." },
  podTerminating: {
    when: "it has a deletionTimestamp",
    text: "Pod {pod} has been terminating since {since} ({span}).",
  },
  podOurs: { when: "the API server accepted Vigil's deletion of this uid", text: "Vigil deleted it at {at}." },
  podFinalizers: {
    when: "terminating, with finalizers",
    text: "It stays until its finalizers are removed: {finalizers}.",
  },
  podNodeSilent: {
    when: "terminating, its node is unknown",
    text: "Its node {node} is silent, so no kubelet confirms that it has ended.",
  },
  podNodeGone: {
    when: "bound to a node that does not exist",
    text: "Its node {node} no longer exists, so it stays until garbage collection removes it.",
  },
  podEnding: {
    when: "terminating, its node is not silent",
    text: "It stays until the kubelet of node {node} has ended its containers.",
  },
  podUnbound: { when: "bound to no node", text: "Pod {pod} is bound to no node, so nothing requests its deletion." },
  podCompleted: {
    when: "phase `Succeeded` or `Failed` (taint mode)",
    text: "Pod {pod} has completed ({phase}), so no taint evicts it.",
  },
  podDue: {
    when: "a deadline lies ahead",
    text: "Pod {pod} is due to be deleted at {at}, in {span}.",
    would: "Pod {pod} would be due to be deleted at {at}, in {span}.",
  },
  podDueNow: {
    when: "it must go at once",
    text: "Pod {pod} is due to be deleted at once.",
    would: "Pod {pod} would be due to be deleted at once.",
  },
  podOverdue: {
    when: "its deadline has passed",
    text: "Pod {pod} was due to be deleted at {at}, {span} ago.",
    would: "Pod {pod} would have been due to be deleted at {at}, {span} ago.",
  },
  podTolerates: {
    when: "its toleration has seconds",
    text: "Its node {node} carries {taint}, which it tolerates for {seconds} s.",
    would: "Its node {node} would carry {taint}, which it tolerates for {seconds} s.",
  },
  podContinues: {
    when: "the countdown began with the opposite taint",
    text: "Its node {node} carries {taint}, and its countdown of {seconds} s has run since {at}, when the node carried the opposite taint.",
    would:
      "Its node {node} would carry {taint}, and its countdown of {seconds} s would have run since {at}, when the node would have carried the opposite taint.",
  },
  podUntolerated: {
    when: "no toleration matches",
    text: "Its node {node} carries {taint}, which it does not tolerate.",
    would: "Its node {node} would carry {taint}, which it does not tolerate.",
  },
  podUntoleratedNow: {
    when: "only the request for its deletion is known",
    text: "Its node {node} has carried {taint} for as long as the pod tolerates it.",
    would: "Its node {node} would have carried {taint} for as long as the pod tolerates it.",
  },
  podTainted: { when: "the taint that decides is not known", text: "Its node {node} carries a NoExecute taint." },
  podDrained: {
    when: "direct mode",
    text: "Its node {node} is being drained.",
    would: "Its node {node} would be drained.",
  },
  podUnrequested: { when: "due, not requested yet", text: "Its deletion has not been requested yet." },
  podForever: {
    when: "tolerates every taint of its node",
    text: "Pod {pod} stays: it tolerates {taints} forever.",
    would: "Pod {pod} would stay: it tolerates {taints} forever.",
  },
  podComputed: {
    when: "its node is tainted, and no deadline has been received",
    text: "Pod {pod} has to leave by {at} because of {taint}: this ledger has received no deadline and computes it from the tolerations.",
    would:
      "Pod {pod} would have to leave by {at} because of {taint}: this ledger has received no deadline and computes it from the tolerations.",
  },
  podComputedNow: {
    when: "the same, the taint not tolerated",
    text: "Pod {pod} has to leave at once because of {taint}: this ledger has received no deadline and computes it from the tolerations.",
    would:
      "Pod {pod} would have to leave at once because of {taint}: this ledger has received no deadline and computes it from the tolerations.",
  },
  podSafe: {
    when: "its node has no NoExecute taint",
    text: "Pod {pod} stays: its node {node} carries no NoExecute taint.",
  },
  podUndrained: {
    when: "its node is not due to be drained (direct mode)",
    text: "Pod {pod} stays: its node {node} is not due to be drained.",
  },
  podNotEvicted: {
    when: "of a DaemonSet (direct mode)",
    text: "Pod {pod} stays: a drain does not delete pods of DaemonSets.",
  },
  podUnobserved: { when: "its node was not observed", text: "Its node {node} has not been observed: {why}." },
  podWaits: {
    when: "its node waits to be admitted",
    text: "Pod {pod} stays until its node {node} is admitted for eviction.",
  },
  podThenFor: { when: "waits, tolerates for a while", text: "It tolerates {taint} for {seconds} s from then on." },
  podThenNot: {
    when: "waits, does not tolerate",
    text: "It does not tolerate {taint}, so it is deleted then.",
    would: "It does not tolerate {taint}, so it would be deleted then.",
  },
  podThenForever: { when: "waits, tolerates forever", text: "It tolerates {taint} forever, so it stays then too." },
} as const satisfies Record<string, SentenceForm>;

/** Timeline entries: half a sentence each, whose subject is the object of the message. */
export const TIMELINE_SENTENCES = {
  taintsSeen: {
    when: "`observed.node`, the first of the node",
    text: "carries {taints}",
    would: "would carry {taints}",
  },
  taintsAdded: {
    when: "`observed.node` with more taints than before",
    text: "now carries {taints}",
    would: "would now carry {taints}",
  },
  taintsRemoved: {
    when: "`observed.node` with fewer taints than before",
    text: "no longer carries {taints}",
    would: "would no longer carry {taints}",
  },
  madeByAnother: {
    when: "`observed.node` that shows a write which shadow mode had not sent",
    text: "another controller wrote {change}{span}",
  },
  nodeReplaced: { when: "`observed.node` with another uid", text: "is a new node of the same name" },
  bothSeen: { when: "`observed.node` in which two of these hold", text: "{first} and {second}" },
  left: { when: "`observed.gone`", text: "left the API" },
  judgedSilent: {
    when: "`judged.node`, readiness `unknown`, last heartbeat known",
    text: "judged unknown: silent for {span}",
  },
  judgedWithoutHeartbeat: {
    when: "`judged.node`, readiness `unknown`, no heartbeat known to the judging process",
    text: "judged unknown: no heartbeat within its grace period",
  },
  judgedNotReady: {
    when: "`judged.node`, readiness `notReady`",
    text: "judged not ready: its kubelet reports Ready=False",
  },
  judgedReady: {
    when: "`judged.node`, readiness `ready` again",
    text: "judged ready: its kubelet reports Ready=True and renews its lease",
  },
  judgedStarting: {
    when: "`judged.node`, readiness `starting` again",
    text: "judged starting: its kubelet has not posted its status yet",
  },
  evictionWaits: { when: "`judged.node`, eviction `toBeEvicted`", text: "waits for eviction in zone {zone}" },
  evictionGranted: { when: "`judged.node`, eviction `evicted`", text: "admitted for eviction" },
  evictionFound: {
    when: "`judged.node`, eviction `evicted`, the first of the node",
    text: "already admitted for eviction",
  },
  evictionEnded: { when: "`judged.node`, eviction `unmarked` again", text: "no longer due for eviction" },
  bothJudged: { when: "`judged.node` that changes readiness and eviction", text: "{readiness}; {eviction}" },
  zoneChanged: {
    when: "`judged.zone` with another state, or after a halt",
    text: "is {state}: {notReady} of {size} not ready; eviction rate: {rate}",
  },
  zoneHalted: {
    when: "`judged.zone`, every zone is disrupted",
    text: "is {state}: {notReady} of {size} not ready; evictions are halted because every zone is disrupted",
  },
  podMayStay: { when: "`judged.pod`, eviction `none` again", text: "may stay: its eviction is cancelled" },
  podMustGo: {
    when: "`judged.pod`, eviction `due`, the taint not tolerated",
    text: "must go at once: it does not tolerate {taint}",
  },
  podTimeOver: {
    when: "`judged.pod`, eviction `due`, its toleration has run out",
    text: "must go now: it tolerated {taint} for {seconds} s",
  },
  podHasUntil: {
    when: "`judged.pod`, eviction `pending`",
    text: "may stay until {until}: it tolerates {taint} for {seconds} s",
  },
  podHasTime: { when: "the same, without the instant", text: "may stay: it tolerates {taint} for {seconds} s" },
  podMayStayUntil: { when: "the same, without the seconds", text: "may stay until {until}: it tolerates {taint}" },
  podTolerant: { when: "the same, with neither", text: "may stay: it tolerates {taint}" },
  conditionsAsked: { when: "`asked.condition`", text: "conditions requested: {conditions}" },
  conditionsTakenBack: { when: "`asked.condition` without conditions", text: "request for conditions withdrawn" },
  taintsByConditions: {
    when: "`asked.taint`, why `conditions`",
    text: "taints requested: {changes} (for its conditions)",
  },
  taintsByGrant: { when: "`asked.taint`, why `granted`", text: "taints requested: {changes} (admitted for eviction)" },
  taintsBySwap: {
    when: "`asked.taint`, why `swap`",
    text: "taints requested: {changes} (in place of the opposite taint)",
  },
  taintsByHealing: { when: "`asked.taint`, why `healing`", text: "taints requested: {changes} (it is healthy again)" },
  labelsAsked: { when: "`asked.label`", text: "labels requested: {labels}" },
  deletionAsked: { when: "`asked.eviction`, mode `taint`", text: "deletion requested: due {due} because of {taint}" },
  drainAsked: {
    when: "`asked.eviction`, mode `direct`",
    text: "deletion requested: due {due} because its node is drained",
  },
  unreadyAsked: { when: "`asked.unready`", text: "Ready=False requested: its node is not ready" },
  drainGranted: { when: "`asked.drain`", text: "admitted to be drained in zone {zone}" },
  written: { when: "`done.write`, outcome `ok`", text: "written after {span}" },
  conflicted: { when: "`done.write`, outcome `conflict`", text: "the object had changed" },
  goneBefore: { when: "`done.write`, outcome `gone`", text: "the object is gone" },
  heldBack: { when: "`done.write`, outcome `refused`", text: "ruled out by a live read" },
  throttled: { when: "`done.write`, outcome `throttled`", text: "throttled by the API server" },
  denied: { when: "`done.write`, outcome `denied`", text: "denied by the API server" },
  failed: { when: "`done.write`, outcome `failed`", text: "failed" },
  replyLost: { when: "`done.write`, outcome `unknown`", text: "the reply was lost" },
  shadowed: { when: "`done.write`, outcome `shadowed`", text: "would have been written" },
  withChange: { when: "`done.write` that names its change", text: "{outcome}: {change}" },
  withDetail: { when: "`done.write` with a detail", text: "{outcome} ({detail})" },
  withRetry: { when: "`done.write`, and its writer retries", text: "{outcome}; will be retried" },
} as const satisfies Record<string, SentenceForm>;

/** Every sentence of the present state, by name. */
export const SENTENCES = {
  ...NODE_SENTENCES,
  ...QUEUE_SENTENCES,
  ...REQUEST_SENTENCES,
  ...POD_SENTENCES,
} as const;

const FORMS: Readonly<Record<keyof typeof SENTENCES | keyof typeof TIMELINE_SENTENCES, SentenceForm>> = {
  ...SENTENCES,
  ...TIMELINE_SENTENCES,
};

/** The name of a sentence of the present state. */
export type SentenceName = keyof typeof SENTENCES;

/** The name of a timeline entry. */
export type TimelineSentenceName = keyof typeof TIMELINE_SENTENCES;

/** A filled-in sentence of these tables. Only `sentence` and `timelineSentence` make one. */
export type Sentence = string & { readonly [MADE_HERE]: true };

declare const MADE_HERE: unique symbol;

/** The placeholders of a text. */
type PlaceholdersOf<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PlaceholdersOf<Rest>
  : never;

/** The values that a sentence needs. */
export type ValuesOf<N extends SentenceName | TimelineSentenceName> = Readonly<
  Record<PlaceholdersOf<TextOf<N>>, string>
>;

type TextOf<N extends SentenceName | TimelineSentenceName> = N extends SentenceName
  ? (typeof SENTENCES)[N]["text"]
  : N extends TimelineSentenceName
    ? (typeof TIMELINE_SENTENCES)[N]["text"]
    : never;

/** Fills in a sentence of the present state, or its `would` where only shadow mode shows that state. */
export function sentence<N extends SentenceName>(name: N, values: ValuesOf<N>, isShadow = false): Sentence {
  const text = filled(name, values, isShadow);
  return (text.charAt(0).toUpperCase() + text.slice(1)) as Sentence;
}

/** Fills in a timeline entry, or its `would` where only shadow mode shows that state. */
export function timelineSentence<N extends TimelineSentenceName>(
  name: N,
  values: ValuesOf<N>,
  isShadow = false,
): Sentence {
  return filled(name, values, isShadow) as Sentence;
}

function filled(name: keyof typeof FORMS, values: Readonly<Record<string, string>>, isShadow: boolean): string {
  const { text, would = text } = FORMS[name];
  return (isShadow ? would : text).replaceAll(/\{(\w+)\}/g, (_placeholder, key: string) => values[key] ?? "");
}
