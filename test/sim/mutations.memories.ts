/** Known bugs of memories and takeovers as changes of the source, each of which the simulator must catch. */
import type { Mutation } from "./mutations.list.ts";

/** What policies remember over a restart. */
const POLICY_MEMORY_BUGS: readonly Mutation[] = [
  {
    name: "open breaker left out when a memory is read",
    file: "services/zone/limits/limits.actor.ts",
    from: "this.#memories.set(policy, { trippedMs: trippedMs ?? null, isStorm,",
    to: "this.#memories.set(policy, { trippedMs: null, isStorm,",
    showsIn: "policies",
  },
  {
    name: "end of a storm left out when a memory is read",
    file: "services/zone/limits/limits.actor.ts",
    from: "isStorm, stormEndedMs: stormEndedMs ?? null });",
    to: "isStorm, stormEndedMs: null });",
    showsIn: "policies",
  },
  {
    name: "nodes of a memory counted only while they are tainted",
    file: "services/zone/limits/limits.actor.ts",
    from: "const named = condemnations.map(",
    to: "const named = condemnations.filter(({ node }) => nodes.node(node)?.isAdmitted === true).map(",
    showsIn: "policies",
  },
  {
    name: "transitions recorded without the earlier ones",
    file: "services/node/concerns/taint-delay/taint-delay.policy.ts",
    from: "return { [Annotation.readyTransitions]: readyTransitionsText(wanted) };",
    to: "return { [Annotation.readyTransitions]: readyTransitionsText(wanted.slice(-1)) };",
    showsIn: "policies",
  },
  {
    name: "only the last recorded transition read",
    file: "services/node/concerns/taint-delay/taint-delay.policy.ts",
    from: "const recorded = possibleAt(node.readyTransitionsAt ?? [], wallMs);\n  const ready",
    to: "const recorded = possibleAt(node.readyTransitionsAt ?? [], wallMs).slice(-1);\n  const ready",
    showsIn: "policies",
  },
  {
    name: "freezes of before a restart read only once the ConfigMap is known",
    file: "services/policy/freezes.ts",
    from: "    if (isNews) this.#memory =",
    to: "    if (isNews && this.#isKnown) this.#memory =",
    showsIn: "policies",
  },
];

/** What a process that takes over knows of its predecessor. */
const TAKEOVER_BUGS: readonly Mutation[] = [
  {
    name: "memory of limits not read before it is published to the next owner",
    file: "services/policy/limit-memory.ts",
    from: "    if (isFirst) this.#remember(text);\n",
    to: '    if (text === "") this.#remember(text);\n',
    showsIn: "policies",
  },
  {
    name: "record of a start not read by the successor",
    file: "services/taint-manager/taint-manager.policy.ts",
    from: "absentMs === Number.NEGATIVE_INFINITY ? node.taintsSeenAt?.[taintName(taint)] : undefined;",
    to: "absentMs !== Number.NEGATIVE_INFINITY ? node.taintsSeenAt?.[taintName(taint)] : undefined;",
  },
  {
    name: "successor that counts every taint from its takeover",
    file: "services/taint-manager/taint-manager.service.ts",
    from: "const absentMs = wasKnown ? Math.max(this.#completeMs, this.#gainedMs) : this.#completeMs;",
    to: "const absentMs = Math.max(this.#completeMs, this.#gainedMs);",
  },
  {
    name: "last taint that its zone's successor does not pay for",
    file: "services/zone/zone.actor.ts",
    from: "const bucket = paidAt === null ? full : paid(full, paidAt, now);\n    const waitMs",
    to: "const bucket = paidAt === null ? full : full;\n    const waitMs",
  },
  {
    name: "outages stored by the process before not read",
    file: "services/policy/outage-memory.ts",
    from: "    if (!isKnown) this.#outages = boundedIntervals([...this.#outages, ...stored], FROZEN_INTERVALS_MAX);\n",
    to:
      "    if (!isKnown && this.#outages.length > 0)\n" +
      "      this.#outages = boundedIntervals([...this.#outages, ...stored], FROZEN_INTERVALS_MAX);\n",
  },
];

/** All of them. */
export const MEMORY_MUTATIONS: readonly Mutation[] = [...POLICY_MEMORY_BUGS, ...TAKEOVER_BUGS];
