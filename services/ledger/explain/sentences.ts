/**
 * Every sentence of `vigil explain`. The policies choose sentences and fill them in; nothing else makes a `Sentence`.
 * `npm run fix` writes docs/explain.md from these tables (test/ledger/explain-states.ts says when each applies), and
 * the simulation checks each sentence of the present state against the cluster.
 */
import type { ExplainedFact } from "../../../protocols/ledger-reader.ts";
import { type NamedText, named, nameText } from "../../domain/format.ts";

/** Sentences about a node. */
export const NODE_SENTENCES = {
  nodeGone: "Node {node} no longer exists.",
  nodeFoundGone:
    "Node {node} no longer exists: a write at {at} found it gone ({detail}), and the watch does not show that yet.",
  nodeUnobserved: "This ledger has not observed node {node} since it started: {why}.",
  nodeUnjudged: "This ledger has received no judgement of node {node} yet.",
  nodeOutdated:
    "Node {node} was {readiness} at {at}, and its owner has published nothing since, although the API server shows {shown}.",
  nodeReady: "Node {node} has been ready since {since} ({span}).",
  nodeNotReady: "Node {node} has been NotReady since {since} ({span}): its kubelet reports Ready=False.",
  nodeStarting:
    "Node {node} has been starting since {since} ({span}): its kubelet has not posted a Ready condition yet, and its grace period is {grace}.",
  nodeUnknown:
    "Node {node} has been unknown since {since} ({span}): its last heartbeat was seen at {heartbeat}, and its grace period is {grace}.",
  nodeUnknownByStatus:
    "Node {node} has been unknown since {since} ({span}): its kubelet last posted its status at {heartbeat}.",
  nodeNeverPosted: "Node {node} has been unknown since {since} ({span}): its kubelet has never posted its status.",
  nodeUnknownNoHeartbeat: "Node {node} has been unknown since {since} ({span}): its last heartbeat is not known.",
  nodeUntainted: "It carries no NoExecute taint.",
  nodeTainted: "It carries {taints}.",
  nodeTaintRemoved: "It would no longer carry {taints}.",
  nodeExcluded: "A label excludes it from disruption checks, so it does not count towards the state of its zone.",
  nodeTaintHeld: "Its NoSchedule taint stays until {at}: its policy has {field}.",
  leasePathBroken: "Unknown nodes may be alive: {why}.",
  nodeLeaseForeign: "Its lease belongs to another node object (uid {uid}): an old kubelet may keep it alive.",
  nodeLeaseShared: "Two machines renew its lease: {holders}.",
  nodeLeftToOthers:
    "Vigil runs in shadow mode: whether and when it is tainted, and its pods evicted, is up to other controllers.",
  nodeBlind: "Vigil takes no action against it at present: {why}.",
} as const;

/** Sentences about a node's zone and its place in the eviction queue. */
export const QUEUE_SENTENCES = {
  zoneState: "Its zone {zone} is {state}: {notReady} of {size} not ready.",
  zoneQueue: "Its zone {zone} is {state}: {notReady} of {size} not ready, {waiting} in the eviction queue.",
  zoneSilent: "Its zone {zone} was {state} at {at}, and its owner has published nothing since.",
  queueUpstreams: "It waits for upstream's controllers, which taint it and evict its pods at their own rate.",
  queueHalted:
    "It waits: evictions are halted while every zone is disrupted, because the nodes are then probably not at fault.",
  queueSmallZone: "It waits: a small zone evicts nothing while it is in PartialDisruption.",
  queueNever: "It waits: the eviction rate of its zone is 0.",
  queueHeld: "It waits: {field} of {whose} blocks it: {detail}.",
  queueHeldUntil: "It waits: {field} of {whose} blocks it until {at} at the earliest: {detail}.",
  queueUnknown: "It waits to be admitted for eviction, at a time that cannot be estimated at present.",
  queueNotShown: "It joins the eviction queue of its zone once the API server shows it as not ready.",
  queueMissing: "It waits to be admitted for eviction, but is not in the queue of its zone at present.",
  queuePlace:
    "It is number {place} of {length} in the eviction queue: at the present rate, {rate}, it is admitted at {at}, in {span}.",
  queueBehind:
    "It is behind the first {count} of {length} in the eviction queue: at the present rate, {rate}, it is admitted after {at}, in more than {span}.",
  queueTaints:
    "Once admitted, it is tainted {taint}, and each of its pods stays for as long as it tolerates that taint.",
  queueDrains: "Once it is admitted, its pods are deleted.",
  drainFrom: "It joins the eviction queue of its zone at {at}, in {span}: its pods are deleted no sooner.",
  drainOverdue: "It was due to join the eviction queue of its zone at {at}, but is not in it yet.",
  drainEmpty: "It does not wait to be drained, because it has no pod that a drain would delete.",
} as const;

/** Sentences about node policies and freezes. */
export const POLICY_SENTENCES = {
  nodePolicyUnknown:
    "This process does not know the policy of the node yet, so it does nothing harmful to it; healing goes on.",
  nodeConflict: "It is selected by {policies}, so none of them applies; each may still freeze it.",
  nodeConditionWaits: "Its condition {condition} has lasted since {since}, which calls for the taint {taint} at {at}.",
  nodeConditionUnrecorded:
    "Its condition {condition} has lasted since {since}, which calls for the taint {taint} once that is recorded on the node.",
  nodeConditionCalls: "Its condition {condition} has lasted since {since}, which calls for the taint {taint}.",
  nodeConditionHeals: "Its condition has been {condition} since {since}, so the taint {taint} has to go at {at}.",
  nodeConditionMissing:
    "The taint {taint} stays: its condition {condition} does not show that the node is healthy again.",
  nodeConditionLeft:
    "The taint {taint} stays until a user removes it: Vigil added it for {condition}, and no rule decides about it now.",
  nodeReadinessHeld:
    "Its pods are not marked not ready: the circuit breaker of {whose} is open, holds readiness, and does not reset by itself.",
  nodeReadinessHeldUntil:
    "Its pods are not marked not ready until {at} at the earliest: the circuit breaker of {whose} is open and holds readiness.",
  nodeReadinessUnknown:
    "Its pods are not marked not ready until it is known whether the circuit breaker of {whose}, which holds readiness, is open.",
  nodeDelayed:
    "It does not wait for eviction before {at}: not ready for {span}; unhealthyDelay {delay} of NodePolicy {policy}.",
  nodeFrozen:
    "It has been frozen since {at} by {by}: until a user thaws it, it is not tainted NoExecute and none of its pods is evicted; healing goes on.",
  nodeFrozenUntil:
    "It has been frozen since {at} by {by}: until {until} it is not tainted NoExecute and none of its pods is evicted; healing goes on.",
  nodeFrozenBeside:
    "It has been frozen since {at} by {by}: until {until} no remediation of it begins, but upstream's controllers taint it and evict its pods all the same.",
  nodeUnproved:
    "It is not proved to be off, so it does not get {taint}: once its machine is surely off, vigil prove-down {node} --reason=… says so.",
  nodeUnremediated:
    "It is not proved to be off, so it does not get {taint}: its policy takes no word of people, and no remediation has succeeded.",
  nodeProofOutdated:
    "Its proof by {by} of {at} ({reason}) is older than its silence, so it does not get {taint}: vigil prove-down {node} --reason=… says it again.",
  nodeProofWaits: "It was proved to be off by {by} at {at} ({reason}): it gets {taint} at {from}, in {span}.",
  nodeProofWaitsFrozen:
    "It was proved to be off by {by} at {at} ({reason}): it gets {taint} some time after it is thawed.",
  nodeProofNotAdmitted:
    "It was proved to be off by {by} at {at} ({reason}): it gets {taint} once it is admitted for eviction.",
  nodeProofHeld: "It was proved to be off by {by} at {at} ({reason}), and {field} blocks {taint}.",
  nodeProofDue: "It was proved to be off by {by} at {at} ({reason}): it gets {taint} now.",
  nodeOutOfService:
    "It is out of service by {taint}: kube-controller-manager 1.26 or later deletes its terminating pods and detaches their volumes; vigil get stuck lists those that are left, and says if this cluster's is older.",
  nodeOutOfServiceKept:
    "It is Ready and still out of service by {taint}: its policy has removeWhenReady: false, so people take that off.",
  nodeOutOfServiceTakenOff:
    "Another client removed {taint} while it was silent, so it is not added until vigil prove-down {node} --reason=… says again that it is off.",
  nodeRemediationWaits: "Its remediation by {kind} waits: {why}.",
  nodeRemediationDry: "Its remediation by {kind} would begin now, but this is a dry run: nothing is created.",
  nodeRemediationAccepted:
    "Its remediation by {kind} would begin now, but this is a dry run: the API server accepts its object, and nothing is created.",
  nodeRemediationDue: "Its remediation by {kind} is due: its object is created next.",
  nodeRemediated: "Its remediation by {kind} has run since {at}, {until}.",
  nodeRemediationUnanswered:
    "Its remediation by {kind} has run since {at}, {until}, but its controller has reported nothing yet.",
  nodeRemediationSucceeded: "Its remediation by {kind} of {at} has succeeded; its object goes once the node is Ready.",
  nodeRemediationsOver: "Every remediation of its policy has failed or timed out: what is left to do is up to people.",
  queueFrozen: "It waits: a frozen node is neither tainted NoExecute nor drained.",
  podFrozen: "Pod {pod} stays while its node {node} is frozen: {left} remain of its countdown.",
  podFrozenUntil:
    "Pod {pod} stays while its node {node} is frozen: {left} remain of its countdown, so it is due to be deleted at {at}.",
  podFrozenDue: "Pod {pod} stays while its node {node} is frozen: its deletion is due as soon as that ends.",
  podFrozenStill: "Pod {pod} stays while its node {node} is frozen.",
  podPolicyUnknown: "Pod {pod} stays until the policy of its node {node} is known.",
  podPaced:
    "It waits for {field} of NodePolicy {policy}: it is number {place} of {waiting}, and is deleted at about {at}, in {span}.",
  podPacedBehind:
    "It waits for an eviction rate of NodePolicy {policy}, which one is not known: it is behind the first {count} of {waiting}, and is deleted after {at}, in more than {span}.",
  podPacedNever: "It waits for {field} of NodePolicy {policy}, which allows no eviction.",
  podPacedUnleased:
    "It waits for {field} of NodePolicy {policy}: no process holds the Lease {lease}, without which no process permits evictions.",
  podPacedElsewhere:
    "It waits for {field} of NodePolicy {policy}: {holder} holds the Lease {lease}, and its permits are not received here.",
  podPacedUnknown: "It waits for the eviction rate of NodePolicy {policy}, and no process says when it ends.",
  podFreezeAhead: "Pod {pod} has no deadline yet: a planned freeze without an end begins before its countdown ends.",
} as const;

/** Sentences about a zone itself; `state` is an entry of its timeline. */
export const ZONE_SENTENCES = {
  zoneIs: "Zone {zone} {state}.",
  zoneWas: "Zone {zone} was {state} at {at}, and its owner has published nothing since.",
  zoneDown:
    "All of it is down while another zone is healthy, so it counts as lost and its pods are needed elsewhere: it is " +
    "evicted at its own full rate, as upstream does. fullDisruptionEvictionRate: 0 of a policy prevents that.",
  zoneWaiting: "{waiting} in its eviction queue; next: {first}.",
  zoneHeld: "Blocked: {holds}.",
  zoneFrozen: "All nodes are frozen by {by} until {until}, so it admits none.",
  zoneUpstreams: "Vigil works beside upstream, whose controllers keep the zone and its eviction rate.",
} as const;

/** Sentences about a node policy itself. */
export const EXPLAINED_POLICY_SENTENCES = {
  policySelects: "NodePolicy {policy} selects nodes by {selector}.",
  policySelectsAll: "NodePolicy {policy} selects every node.",
  policyNoNode: "It applies to no node at present.",
  policyNodes: "It applies to {nodes}: {names}.",
  policyUnhealthy: "{nodes} unhealthy: {names}.",
  policyConflict:
    "Another policy selects {nodes} too, so neither applies there, but each may freeze what it selects: {names}.",
  policyMaintenance: "{nodes} in maintenance, which blocks evictions: {names}.",
  policyUnwritten: "Vigil runs in shadow mode, so it writes nothing, whatever the mode of the policy.",
  policySets: "It sets {fields}.",
  policySetsNothing: "It sets nothing, so its nodes are treated as without a policy.",
  policyRefused: "A field of it is refused and counts as unset: {problem}.",
  policyFrozen:
    "Its nodes have been frozen since {at} by {by}: until a user thaws them, none is tainted NoExecute and none of their pods is evicted; healing goes on.",
  policyFrozenUntil:
    "Its nodes have been frozen since {at} by {by}: until {until} none is tainted NoExecute and none of their pods is evicted; healing goes on.",
  policyFrozenBeside:
    "Its nodes have been frozen since {at} by {by}: until {until} no remediation of them begins, but upstream's controllers taint them and evict their pods all the same.",
  policyLimitsBeside:
    "No process counts its limits beside upstream: they block every remediation, and nothing that upstream's controllers do.",
  policyLimitsUnknown: "What its limits do now is not known: their owner has published nothing lately.",
  policyBreakerClosed: "Its circuit breaker is closed.",
  policyBreakerUnknown: "Whether its circuit breaker is open is not known at present.",
  policyBreakerOpen:
    "Its circuit breaker is open: no further node is tainted NoExecute or drained until a user removes circuitBreaker from the policy.",
  policyBreakerOpenUntil:
    "Its circuit breaker is open: no further node is tainted NoExecute or drained until {at} at the earliest.",
  policyBreakerReadiness: "Meanwhile the pods of its silent nodes are not marked not ready.",
  policyBudget: "Its budgets allow {nodes} to be disrupted at once now, and leave {left}.",
  policyHold: "Blocked by {field}: {nodes} ({detail}).",
  policyHoldUntil: "Blocked by {field} until {at} at the earliest: {nodes} ({detail}).",
  policyEvictions: "Its eviction rate has admitted {evicted} within the last minute, and delays {waiting}.",
  policyEvictionsBeside:
    "Its evictions have no effect beside upstream: upstream's controllers delete the pods, at their own rate and past every disruption budget.",
  policyRemediations: "Remediations run for {running}, and wait or are used up for {waiting}.",
} as const;

/** Sentences about the last request for a node or a pod, by its outcome. */
export const REQUEST_SENTENCES = {
  requestOpen: "{what} was requested at {at}, and its outcome is not known yet.",
  requestWritten: "The API server accepted {what} at {at}, and the watch does not show it yet.",
  requestDenied: "The API server denied {what} at {at}: {detail}.",
  requestThrottled: "The API server throttled {what} at {at}: {detail}.",
  requestFailed: "{what} failed at {at}: {detail}.",
  requestUnknown: "The reply to {what} was lost at {at}, so it may have been carried out: {detail}.",
  requestConflict: "{what} conflicted with another change at {at}: {detail}.",
  requestRefused: "A live read ruled out {what} at {at}: {detail}.",
  requestGone: "{what} was no longer needed at {at}: {detail}.",
  requestShadowed: "{what} would have been written at {at}, but shadow mode writes nothing.",
  retryAt: "It is retried at {at}.",
  retrySoon: "A retry is under way.",
  retryRequested: "It is requested again within {span}.",
  retryGrant: "It is requested again when its node is next admitted for eviction.",
} as const;

/** Sentences about a pod. */
export const POD_SENTENCES = {
  podUnread: "Pod {pod} could not be read from the API server: {why}.",
  podLastKnown: "This ledger knows the following about the last pod of that name.",
  podUnnamed: "This ledger knows of no request to delete pod {pod}.",
  podGone: "Pod {pod} no longer exists.",
  podTerminating: "Pod {pod} has been terminating since {since} ({span}).",
  podOurs: "Vigil deleted it at {at}.",
  podDisrupted: "Its condition DisruptionTarget says {reason}: it is ended by {who}.",
  podFinalizers: "It stays until its finalizers are removed: {finalizers}.",
  podNodeSilent: "Its node {node} is silent, so no kubelet confirms that it has ended.",
  podNodeGone: "Its node {node} no longer exists, so it stays until garbage collection removes it.",
  podEnding: "It stays until the kubelet of node {node} has ended its containers.",
  podUnbound: "Pod {pod} is bound to no node, so nothing requests its deletion.",
  podCompleted: "Pod {pod} has completed ({phase}), so no taint evicts it.",
  podDue: "Pod {pod} is due to be deleted at {at}, in {span}.",
  podDueNow: "Pod {pod} is due to be deleted at once.",
  podOverdue: "Pod {pod} was due to be deleted at {at}, {span} ago.",
  podClockBehind:
    "The API server's clock counts, and is {span} behind this machine's, by which its deadline is at {at}: set the clocks by NTP.",
  podOutage: "Pod {pod} stays for now: no node can be heard since {at}, so its countdown is paused.",
  podOutageUndated:
    "Pod {pod} stays for now: no node can be heard, and nothing shows since when, so its countdown is paused.",
  podOutageOver: "No node could be heard from {from} to {to}: its countdown was paused for {span}.",
  podOutageGrace: "No node could be heard until {to}: it is not due before its node had its grace period of {span}.",
  podOutageUnknown:
    "No node could be heard until {to}, and nothing was left that shows since when: its countdown counts again from then.",
  podOutageUnwritten:
    "No node could be heard from {from} to {to}, and that cannot be remembered (vigil_memory_unwritten): its countdown counts again from that end.",
  podTolerates: "Its node {node} carries {taint}, which it tolerates for {seconds} s.",
  podToleratesOpposite:
    "Its node {node} carries {taint} in place of the opposite taint, and what counts is that the pod tolerates {opposite} for {seconds} s.",
  podContinues:
    "Its node {node} carries {taint}, and its countdown of {seconds} s has run since {at}, when the node carried the opposite taint.",
  podUntolerated: "Its node {node} carries {taint}, which it does not tolerate.",
  podUntoleratedNow: "Its node {node} carries {taint}, and the time for which the pod may stay is over.",
  podTainted: "Its node {node} carries a NoExecute taint.",
  podDrained: "Its node {node} is being drained.",
  podUnrequested: "No request for its deletion has been received yet.",
  podRecreated:
    "Its owner has created its pods on {node} again after {count} evictions, so this one is deleted at {at} at the earliest. Let them tolerate {taint}, or keep them off the node.",
  podMirror:
    "Pod {pod} stays despite {taint}: it mirrors a static pod, which only its kubelet can end. Remove its manifest from the node, or let it tolerate the taint.",
  podForever: "Pod {pod} stays: it tolerates {taints} forever.",
  podUnreadable: "Pod {pod} is not evicted by {taint}, which it may tolerate: {why}.",
  podComputed:
    "Pod {pod} has to leave by {at} because of {taint}: this ledger has received no deadline and computes it from the tolerations.",
  podComputedNow:
    "Pod {pod} has to leave at once because of {taint}: this ledger has received no deadline and computes it from the tolerations.",
  podSafe: "Pod {pod} stays: its node {node} carries no NoExecute taint.",
  podUndrained: "Pod {pod} stays: its node {node} is not due to be drained.",
  podNotEvicted: "Pod {pod} stays: a drain does not delete pods of DaemonSets.",
  podUnobserved: "Its node {node} has not been observed: {why}.",
  podWaits: "Pod {pod} stays until its node {node} is admitted for eviction.",
  podThenFor: "It tolerates {taint} for {seconds} s from then on.",
  podThenNot: "It does not tolerate {taint}, so it is deleted then.",
  podThenUnreadable: "It may tolerate {taint}, so it is not evicted then: {why}.",
  podThenForever: "It tolerates {taint} forever, so it stays then too.",
} as const;

/** Timeline entries: half a sentence each, whose subject is the object of the message. */
export const TIMELINE_SENTENCES = {
  taintsSeen: "carries {taints}",
  taintsAdded: "now carries {taints}",
  taintsRemoved: "no longer carries {taints}",
  madeByAnother: "another controller wrote {change}{span}",
  podMarkedByAnother: "marked not ready by another client",
  podDeletedByAnother: "deleted by another client",
  nodeReplaced: "is a new node of the same name",
  bothSeen: "{first} and {second}",
  left: "left the API",
  judgedSilent: "judged unknown: silent for {span}",
  judgedWithoutHeartbeat: "judged unknown: no heartbeat within its grace period",
  judgedNotReady: "judged not ready: its kubelet reports Ready=False",
  judgedReady: "judged ready: its kubelet reports Ready=True and renews its lease",
  judgedStarting: "judged starting: its kubelet has not posted its status yet",
  evictionWaits: "waits for eviction in zone {zone}",
  evictionGranted: "admitted for eviction",
  evictionFound: "already admitted for eviction",
  evictionEnded: "no longer due for eviction",
  bothJudged: "{readiness}; {eviction}",
  zoneChanged: "is {state}: {notReady} of {size} not ready; eviction rate: {rate}",
  zoneHalted: "is {state}: {notReady} of {size} not ready; evictions are halted because every zone is disrupted",
  podMayStay: "may stay: its eviction is cancelled",
  podMustGo: "must go at once: it does not tolerate {taint}",
  podTimeOver: "must go now: it tolerated {taint} for {seconds} s",
  podHasUntil: "may stay until {until}: it tolerates {taint} for {seconds} s",
  podHasTime: "may stay: it tolerates {taint} for {seconds} s",
  podMayStayUntil: "may stay until {until}: it tolerates {taint}",
  podTolerant: "may stay: it tolerates {taint}",
  podHeld: "stays while its countdown is paused with {left} left ({field})",
  podHeldDue: "stays although it is due ({field})",
  conditionsAsked: "conditions requested: {conditions}",
  conditionsTakenBack: "request for conditions withdrawn",
  taintsByConditions: "taints requested: {changes} (for its conditions)",
  taintsByGrant: "taints requested: {changes} (admitted for eviction)",
  taintsBySwap: "taints requested: {changes} (in place of the opposite taint)",
  taintsByHealing: "taints requested: {changes} (it is healthy again)",
  labelsAsked: "labels requested: {labels}",
  annotationsAsked: "annotations requested: {annotations}",
  labelsAndAnnotationsAsked: "labels requested: {labels}; annotations requested: {annotations}",
  deletionAsked: "deletion requested: due {due} because of {taint}",
  drainAsked: "deletion requested: due {due} because its node is drained",
  unreadyAsked: "Ready=False requested: its node is not ready",
  drainGranted: "admitted to be drained in zone {zone}",
  written: "written after {span}",
  conflicted: "the object had changed",
  goneBefore: "the object is gone",
  heldBack: "ruled out by a live read",
  throttled: "throttled by the API server",
  denied: "denied by the API server",
  failed: "failed",
  replyLost: "the reply was lost",
  shadowed: "would have been written",
  withChange: "{outcome}: {change}",
  withDetail: "{outcome} ({detail})",
  withRetry: "{outcome}; will be retried",
} as const;

/** Every sentence of the present state of a node or a pod, by name. */
export const SENTENCES = {
  ...NODE_SENTENCES,
  ...QUEUE_SENTENCES,
  ...REQUEST_SENTENCES,
  ...POD_SENTENCES,
} as const;

const FORMS = {
  ...SENTENCES,
  ...POLICY_SENTENCES,
  ...ZONE_SENTENCES,
  ...EXPLAINED_POLICY_SENTENCES,
  ...TIMELINE_SENTENCES,
} as const;

/** The name of a sentence about policies and freezes. */
export type PolicySentenceName = keyof typeof POLICY_SENTENCES;

/** The name of a sentence about a zone. */
export type ZoneSentenceName = keyof typeof ZONE_SENTENCES;

/** The name of a sentence about a node policy itself. */
export type ExplainedPolicySentenceName = keyof typeof EXPLAINED_POLICY_SENTENCES;

/** The name of a sentence of the present state of a node or a pod. */
export type SentenceName = keyof typeof SENTENCES;

/** The name of a timeline entry. */
export type TimelineSentenceName = keyof typeof TIMELINE_SENTENCES;

/** A filled-in timeline entry, with the names in it. Only `timelineSentence` makes one. */
export type TimelineSentence = NamedText & { readonly [MADE_HERE]: true };

/** A filled-in sentence of the present state, with the names in it and what it says. Only `sentence` makes one. */
export type Sentence = TimelineSentence & ExplainedFact;

declare const MADE_HERE: unique symbol;

/** The placeholders of a text. */
type PlaceholdersOf<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PlaceholdersOf<Rest>
  : never;

/** The placeholders whose value is the name of one object: a node, `namespace/pod`, a zone key, a node policy. */
const NAMES = {
  node: (name: string) => nameText("Node", name),
  pod: (name: string) => nameText("Pod", name.slice(name.indexOf("/") + 1), name.slice(0, name.indexOf("/"))),
  zone: (key: string) => nameText("Zone", key),
  policy: (name: string) => nameText("NodePolicy", name),
} as const;

/** The values that a sentence needs. */
export type ValuesOf<N extends keyof typeof FORMS> = {
  readonly [P in PlaceholdersOf<(typeof FORMS)[N]>]: P extends keyof typeof NAMES ? string : string | NamedText;
};

/** What these say instead where only shadow mode shows the state, because it continues as if a write had been sent. */
export const SHADOW_SENTENCES: Readonly<Partial<Record<keyof typeof FORMS, string>>> = {
  nodeTainted: "It would carry {taints}.",
  queueTaints:
    "Once admitted, it would be tainted {taint}, and each of its pods would stay for as long as it tolerates that taint.",
  queueDrains: "Once it is admitted, its pods would be deleted.",
  podDue: "Pod {pod} would be due to be deleted at {at}, in {span}.",
  podDueNow: "Pod {pod} would be due to be deleted at once.",
  podOverdue: "Pod {pod} would have been due to be deleted at {at}, {span} ago.",
  podTolerates: "Its node {node} would carry {taint}, which it tolerates for {seconds} s.",
  podToleratesOpposite:
    "Its node {node} would carry {taint} in place of the opposite taint, and what counts is that the pod tolerates {opposite} for {seconds} s.",
  podContinues:
    "Its node {node} would carry {taint}, and its countdown of {seconds} s would have run since {at}, when the node would have carried the opposite taint.",
  podUntolerated: "Its node {node} would carry {taint}, which it does not tolerate.",
  podUntoleratedNow: "Its node {node} would carry {taint}, and the time for which the pod may stay would be over.",
  podDrained: "Its node {node} would be drained.",
  podForever: "Pod {pod} would stay: it tolerates {taints} forever.",
  podComputed:
    "Pod {pod} would have to leave by {at} because of {taint}: this ledger has received no deadline and computes it from the tolerations.",
  podComputedNow:
    "Pod {pod} would have to leave at once because of {taint}: this ledger has received no deadline and computes it from the tolerations.",
  podThenNot: "It does not tolerate {taint}, so it would be deleted then.",
  taintsSeen: "would carry {taints}",
  taintsAdded: "would now carry {taints}",
  taintsRemoved: "would no longer carry {taints}",
};

/** Fills in a sentence of the present state, as shadow mode says it with `isShadow`. */
export function sentence<N extends SentenceName | PolicySentenceName | ZoneSentenceName | ExplainedPolicySentenceName>(
  name: N,
  values: ValuesOf<N>,
  isShadow = false,
): Sentence {
  const { text, names } = filled(name, values, isShadow);
  const given: [string, string | NamedText][] = Object.entries(values);
  const said = given.map(([key, value]) => [key, typeof value === "string" ? value : value.text]);
  const fact: ExplainedFact = { name, values: Object.fromEntries(said) };
  return { ...fact, text: text.charAt(0).toUpperCase() + text.slice(1), names } as Sentence;
}

/** Fills in a timeline entry, as shadow mode says it with `isShadow`. */
export function timelineSentence<N extends TimelineSentenceName>(
  name: N,
  values: ValuesOf<N>,
  isShadow = false,
): TimelineSentence {
  return filled(name, values, isShadow) as TimelineSentence;
}

function filled(
  name: keyof typeof FORMS,
  values: Readonly<Record<string, string | NamedText>>,
  isShadow: boolean,
): NamedText {
  const text = (isShadow ? SHADOW_SENTENCES[name] : undefined) ?? FORMS[name];
  const parts = text.split(/\{(\w+)\}/);
  const keys = parts.filter((_part, index) => index % 2 === 1);
  const filledIn = (key: string): string | NamedText => {
    const value = values[key] ?? "";
    return isName(key) && typeof value === "string" ? NAMES[key](value) : value;
  };
  return named(
    parts.filter((_part, index) => index % 2 === 0),
    ...keys.map(filledIn),
  );
}

function isName(key: string): key is keyof typeof NAMES {
  return Object.hasOwn(NAMES, key);
}
