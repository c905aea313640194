/**
 * Every sentence that `vigil explain` says: of the present state of a node or a pod with that state, and of the
 * messages in its timeline with the message. The policies choose among them and fill them in, and nothing else makes a
 * `Sentence`. docs/explain.md is written from these tables, and the simulation holds each sentence of the present state
 * against the cluster.
 */

/** A sentence with holes such as `{node}`, and the state in which it is said. */
export interface SentenceForm {
  readonly when: string;
  readonly text: string;
}

/** What is said of a node. */
export const NODE_SENTENCES = {
  nodeGone: { when: "the node left the API", text: "Node {node} is not there any more." },
  nodeFoundGone: {
    when: "a write found the node gone, and the watch does not show that yet",
    text: "Node {node} is gone, as a write found at {at}: {detail}. The watch of nodes does not show that yet.",
  },
  nodeUnobserved: {
    when: "the ledger has a history of the node, and cannot see yet whether it is there",
    text: "Node {node} has not been observed since this ledger began: {why}.",
  },
  nodeUnjudged: { when: "no `judged.node` was heard", text: "This ledger has heard no judgement of node {node} yet." },
  nodeReady: { when: "readiness `ready`", text: "Node {node} is ready since {since} ({span})." },
  nodeNotReady: {
    when: "readiness `notReady`",
    text: "Node {node} is not ready since {since} ({span}): its kubelet reports Ready=False.",
  },
  nodeStarting: {
    when: "readiness `starting`",
    text: "Node {node} is starting since {since} ({span}): its kubelet has not posted a Ready condition. Until it does, {grace} without a heartbeat are tolerated.",
  },
  nodeUnknown: {
    when: "readiness `unknown`, and its last heartbeat is known",
    text: "Node {node} is unknown since {since} ({span}): its last heartbeat was seen at {heartbeat}, and {grace} of silence are tolerated.",
  },
  nodeUnknownByStatus: {
    when: "readiness `unknown`, found so by a process that started later",
    text: "Node {node} is unknown since {since} ({span}): its kubelet last posted its status at {heartbeat}.",
  },
  nodeNeverPosted: {
    when: "readiness `unknown`, condition reason `NodeStatusNeverUpdated`",
    text: "Node {node} is unknown since {since} ({span}): its kubelet never posted its status.",
  },
  nodeUnknownNoHeartbeat: {
    when: "readiness `unknown`, and neither the process that judged it nor the API tells of a heartbeat",
    text: "Node {node} is unknown since {since} ({span}), and its last heartbeat is not known.",
  },
  nodeUntainted: { when: "no NoExecute taint stands", text: "It carries no NoExecute taint." },
  nodeTainted: { when: "NoExecute taints stand", text: "It carries {taints}." },
  nodeExcluded: {
    when: "the label that excludes it from disruption checks",
    text: "It is excluded by its label from what decides its zone's state.",
  },
  nodeBlind: {
    when: "the shard of the node cannot be seen",
    text: "Nothing is decided against it at present: {why}.",
  },
} as const satisfies Record<string, SentenceForm>;

/** What is said of a node's zone, its place in the queue and what follows from it. */
export const QUEUE_SENTENCES = {
  zoneState: { when: "always", text: "Its zone {zone} is {state}: {notReady} of {size} not ready." },
  zoneQueue: {
    when: "nodes of the zone wait",
    text: "Its zone {zone} is {state}: {notReady} of {size} not ready, {waiting} in the queue.",
  },
  zoneSilent: {
    when: "the owner of the zone has published nothing for a while",
    text: "Its zone {zone} was {state} at {at}, and nothing has been heard of it since.",
  },
  queueHalted: {
    when: "waits, and the all-zones rule holds",
    text: "It waits, and no turn comes, because every zone is disrupted: that looks like our own fault, not theirs.",
  },
  queueSmallZone: {
    when: "waits in a small zone in partial disruption",
    text: "It waits for its turn, and no turn comes while so much of a zone so small is not ready.",
  },
  queueNever: {
    when: "waits, and the rate of the zone is 0",
    text: "It waits for its turn, and no turn comes: its zone's eviction rate is 0.",
  },
  queueUnknown: {
    when: "waits, and the shard or the zone cannot be seen",
    text: "It waits for its turn, and nobody can say now when that comes.",
  },
  queueNotShown: {
    when: "waits, and the API does not show it as not ready yet",
    text: "It joins the queue of its zone as soon as the API server shows that it is not ready.",
  },
  queueMissing: {
    when: "waits, and is not in the queue",
    text: "It waits for its turn, and is not in its zone's queue at present.",
  },
  queuePlace: {
    when: "waits in the queue",
    text: "It is number {place} of {length} in the queue, at {rate}: as things stand its turn comes at {at}, in {span}.",
  },
  queueBehind: {
    when: "waits behind the nodes that the zone names",
    text: "It is behind the first {count} of {length} in the queue, at {rate}: as things stand its turn comes after {at}, in {span}.",
  },
  queueTaints: {
    when: "waits (taint mode)",
    text: "When its turn comes, it is tainted {taint}, and each of its pods stays as long as it tolerates that.",
  },
  queueDrains: { when: "waits (direct mode)", text: "When its turn comes, its pods are deleted." },
  drainFrom: {
    when: "not ready for less than `--pod-eviction-timeout` (direct mode)",
    text: "Its pods are deleted at {at} at the earliest, in {span}: then it takes its place in the queue of its zone.",
  },
  drainOverdue: {
    when: "not ready for longer than `--pod-eviction-timeout`, and not queued (direct mode)",
    text: "Its pods were due to be deleted from {at}, and it is not in the queue of its zone yet.",
  },
} as const satisfies Record<string, SentenceForm>;

/** What is said of the last request about a node or a pod, by its outcome. */
export const REQUEST_SENTENCES = {
  requestOpen: {
    when: "no outcome was heard",
    text: "{what} was requested at {at}, and its outcome is not known yet.",
  },
  requestWritten: { when: "`ok`", text: "{what} was written at {at}, and the watch does not show it yet." },
  requestDenied: { when: "`denied`", text: "The API server denied {what} at {at}: {detail}." },
  requestThrottled: { when: "`throttled`", text: "The API server asked for a pause before {what} at {at}: {detail}." },
  requestFailed: { when: "`failed`", text: "{what} failed at {at}: {detail}." },
  requestUnknown: {
    when: "`unknown`",
    text: "{what} was sent, and its reply was lost at {at}, so that it may have happened: {detail}.",
  },
  requestConflict: { when: "`conflict`", text: "{what} met an object that had changed at {at}: {detail}." },
  requestRefused: { when: "`refused`", text: "A live read held {what} back at {at}: {detail}." },
  requestGone: { when: "`gone`", text: "{what} found nothing left to do at {at}: {detail}." },
  requestShadowed: { when: "`shadowed`", text: "{what} would have been written at {at}, and in shadow nothing is." },
  retryAt: { when: "the writer tries again", text: "The next try comes at {at}." },
  retrySoon: { when: "the next try is due", text: "The next try is under way." },
  retryRequested: { when: "the service that asked repeats it", text: "It is requested again within {span}." },
  retryGrant: { when: "the zone repeats it", text: "It is requested again with the next turn of its node." },
} as const satisfies Record<string, SentenceForm>;

/** What is said of a pod. */
export const POD_SENTENCES = {
  podUnread: { when: "the live read failed", text: "The API server could not be asked about pod {pod}: {why}." },
  podUnnamed: {
    when: "the live read failed, and no request for its deletion stands",
    text: "As far as this ledger has heard, nothing requests the deletion of pod {pod}.",
  },
  podGone: { when: "no pod has that name", text: "Pod {pod} is not there any more." },
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
    when: "terminating, and its node is unknown",
    text: "Its node {node} is silent, so nobody finishes it.",
  },
  podNodeGone: {
    when: "bound to a node that is not there",
    text: "Its node {node} is not there any more, so it stays until garbage collection removes it.",
  },
  podEnding: {
    when: "terminating, and its node is not silent",
    text: "It stays until the kubelet of node {node} has ended its containers.",
  },
  podUnbound: { when: "bound to no node", text: "Pod {pod} is bound to no node, so nothing requests its deletion." },
  podCompleted: {
    when: "phase `Succeeded` or `Failed` (taint mode)",
    text: "Pod {pod} has completed ({phase}), and no taint evicts it.",
  },
  podDue: { when: "a deadline lies ahead", text: "Pod {pod} is due to be deleted at {at}, in {span}." },
  podDueNow: { when: "it must go at once", text: "Pod {pod} is due to be deleted at once." },
  podOverdue: { when: "its deadline has passed", text: "Pod {pod} was due to be deleted at {at}, {span} ago." },
  podTolerates: {
    when: "its toleration has seconds",
    text: "Its node {node} carries {taint}, which it tolerates for {seconds} s.",
  },
  podContinues: {
    when: "the countdown began with the opposite taint",
    text: "Its node {node} carries {taint}, and its countdown of {seconds} s has run since {at}, when that taint's opposite stood there.",
  },
  podUntolerated: {
    when: "no toleration matches",
    text: "Its node {node} carries {taint}, which it does not tolerate.",
  },
  podUntoleratedNow: {
    when: "only the request for its deletion was heard",
    text: "Its node {node} carries {taint}, and it has been there for as long as the pod tolerates it.",
  },
  podTainted: { when: "the taint that decides is not known", text: "Its node {node} carries a NoExecute taint." },
  podDrained: { when: "direct mode", text: "Its node {node} is drained." },
  podUnrequested: { when: "due, and no request was heard", text: "Its deletion has not been requested yet." },
  podForEver: { when: "tolerates every taint of its node", text: "Pod {pod} stays: it tolerates {taints} for ever." },
  podReckoned: {
    when: "its node is tainted, and this ledger heard no deadline of the pod",
    text: "Pod {pod} has to leave by {at} because of {taint}, by its tolerations: this ledger has heard no deadline of it.",
  },
  podReckonedNow: {
    when: "the same, and it does not tolerate the taint",
    text: "Pod {pod} has to leave at once because of {taint}, by its tolerations: this ledger has heard no deadline of it.",
  },
  podSafe: {
    when: "its node has no NoExecute taint",
    text: "Pod {pod} stays: its node {node} carries no NoExecute taint.",
  },
  podUndrained: {
    when: "its node is not to be drained (direct mode)",
    text: "Pod {pod} stays: its node {node} is not to be drained.",
  },
  podNotEvicted: {
    when: "of a DaemonSet (direct mode)",
    text: "Pod {pod} stays: a drain leaves the pods of DaemonSets alone.",
  },
  podUnobserved: { when: "its node was not observed", text: "Nothing is known of its node {node}: {why}." },
  podWaits: { when: "its node waits for its turn", text: "Pod {pod} stays until the turn of its node {node} comes." },
  podThenFor: { when: "waits, tolerates for a while", text: "It tolerates {taint} for {seconds} s from then on." },
  podThenNot: { when: "waits, does not tolerate", text: "It does not tolerate {taint}, so it is deleted then." },
  podThenForEver: { when: "waits, tolerates for ever", text: "It tolerates {taint} for ever, so it stays then too." },
} as const satisfies Record<string, SentenceForm>;

/** What is said of a message in the timeline of its object: half a sentence, whose subject is that object. */
export const TIMELINE_SENTENCES = {
  taintsSeen: { when: "`observed.node`, the first of the node", text: "carries {taints}" },
  taintsCame: { when: "`observed.node` with more taints than before", text: "now carries {taints}" },
  taintsWent: { when: "`observed.node` with fewer taints than before", text: "no longer carries {taints}" },
  nodeReplaced: { when: "`observed.node` with another uid", text: "is another node of that name from here on" },
  bothSeen: { when: "`observed.node` in which two of these hold", text: "{first} and {second}" },
  left: { when: "`observed.gone`", text: "left the API" },
  judgedSilent: {
    when: "`judged.node`, readiness `unknown`, and its last heartbeat is known",
    text: "judged unknown: silent for {span}",
  },
  judgedUnheard: {
    when: "`judged.node`, readiness `unknown`, and the process that judges it has heard no heartbeat",
    text: "judged unknown: no heartbeat within its grace",
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
  evictionWaits: { when: "`judged.node`, eviction `toBeEvicted`", text: "waits for its turn in zone {zone}" },
  evictionCame: { when: "`judged.node`, eviction `evicted`", text: "its turn has come: its pods may not stay" },
  evictionFound: {
    when: "`judged.node`, eviction `evicted`, the first of the node",
    text: "its pods may not stay",
  },
  evictionEnded: { when: "`judged.node`, eviction `unmarked` again", text: "its pods may stay" },
  bothJudged: { when: "`judged.node` that changes readiness and eviction", text: "{readiness}; {eviction}" },
  zoneChanged: {
    when: "`judged.zone` with another state, or after a halt",
    text: "is {state}: {notReady} of {size} not ready; pace: {rate}",
  },
  zoneHalted: {
    when: "`judged.zone`, and the all-zones rule holds",
    text: "is {state}: {notReady} of {size} not ready; all zones are disrupted, so no node is tainted",
  },
  podMayStay: { when: "`judged.pod`, sentence `none` again", text: "may stay: nothing asks it to go any more" },
  podMustGo: {
    when: "`judged.pod`, sentence `now`, and it does not tolerate the taint",
    text: "must go at once: it does not tolerate {taint}",
  },
  podTimeOver: {
    when: "`judged.pod`, sentence `now`, after the seconds of its toleration",
    text: "must go now: its {seconds} s with {taint} are over",
  },
  podHasUntil: {
    when: "`judged.pod`, sentence `deadline`",
    text: "may stay until {until}: it tolerates {taint} for {seconds} s",
  },
  podHasTime: {
    when: "the same, without the instant",
    text: "may stay: it tolerates {taint} for {seconds} s",
  },
  podMayStayUntil: {
    when: "the same, without the seconds",
    text: "may stay until {until}: it tolerates {taint}",
  },
  podTolerant: { when: "the same, with neither", text: "may stay: it tolerates {taint}" },
  conditionsAsked: { when: "`asked.condition`", text: "asked to set {conditions}" },
  conditionsTakenBack: { when: "`asked.condition` without conditions", text: "asked to set no condition after all" },
  taintsByConditions: {
    when: "`asked.taint`, why `conditions`",
    text: "asked for taints {changes}: its conditions say so",
  },
  taintsByTurn: { when: "`asked.taint`, why `turn`", text: "asked for taints {changes}: its turn has come" },
  taintsBySwap: {
    when: "`asked.taint`, why `swap`",
    text: "asked for taints {changes}: the opposite taint stood there",
  },
  taintsByHealing: { when: "`asked.taint`, why `healing`", text: "asked for taints {changes}: it is well again" },
  labelsAsked: { when: "`asked.label`", text: "asked for labels {labels}" },
  deletionAsked: { when: "`asked.eviction`, mode `taint`", text: "asked to be deleted, due {due}: by {taint}" },
  drainAsked: {
    when: "`asked.eviction`, mode `direct`",
    text: "asked to be deleted, due {due}: its node is drained",
  },
  unreadyAsked: { when: "`asked.unready`", text: "asked to be marked NotReady: its node is not ready" },
  turnCame: { when: "`asked.drain`", text: "its turn to be drained has come in zone {zone}" },
  written: { when: "`done.write`, outcome `ok`", text: "written after {span}" },
  conflicted: { when: "`done.write`, outcome `conflict`", text: "the object had changed" },
  goneBefore: { when: "`done.write`, outcome `gone`", text: "the object is gone" },
  heldBack: { when: "`done.write`, outcome `refused`", text: "held back after a second look" },
  throttled: { when: "`done.write`, outcome `throttled`", text: "the API server asked to wait" },
  denied: { when: "`done.write`, outcome `denied`", text: "the API server refused" },
  failed: { when: "`done.write`, outcome `failed`", text: "failed" },
  replyLost: { when: "`done.write`, outcome `unknown`", text: "the reply was lost" },
  shadowed: { when: "`done.write`, outcome `shadowed`", text: "would have been written" },
  withChange: { when: "`done.write` that names its change", text: "{outcome}: {change}" },
  withDetail: { when: "`done.write` with a detail", text: "{outcome} ({detail})" },
  withRetry: { when: "`done.write`, and its writer tries again", text: "{outcome}; will be tried again" },
} as const satisfies Record<string, SentenceForm>;

/** Every sentence of the present state by its name. */
export const SENTENCES = {
  ...NODE_SENTENCES,
  ...QUEUE_SENTENCES,
  ...REQUEST_SENTENCES,
  ...POD_SENTENCES,
} as const;

const FORMS = { ...SENTENCES, ...TIMELINE_SENTENCES } as const;

/** The name of a sentence of the present state. */
export type SentenceName = keyof typeof SENTENCES;

/** The name of a sentence of the timeline. */
export type TimelineSentenceName = keyof typeof TIMELINE_SENTENCES;

/** A sentence of these tables, filled in. Only `say` and `sayOfMessage` make one. */
export type Sentence = string & { readonly [MADE_HERE]: true };

declare const MADE_HERE: unique symbol;

/** What has to be filled into a text. */
type HolesOf<T extends string> = T extends `${string}{${infer Hole}}${infer Rest}` ? Hole | HolesOf<Rest> : never;

/** What has to be filled into a sentence. */
export type ValuesOf<N extends keyof typeof FORMS> = Readonly<Record<HolesOf<(typeof FORMS)[N]["text"]>, string>>;

/** A sentence of the present state, filled in. */
export function sentence<N extends SentenceName>(name: N, values: ValuesOf<N>): Sentence {
  const text = filled(name, values);
  return (text.charAt(0).toUpperCase() + text.slice(1)) as Sentence;
}

/** A sentence of the timeline, filled in. */
export function sayOfMessage<N extends TimelineSentenceName>(name: N, values: ValuesOf<N>): Sentence {
  return filled(name, values) as Sentence;
}

function filled(name: keyof typeof FORMS, values: Readonly<Record<string, string>>): string {
  return FORMS[name].text.replaceAll(/\{(\w+)\}/g, (_hole, key: string) => values[key] ?? "");
}
