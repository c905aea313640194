/**
 * `vigil freeze` and `vigil thaw`: while it lasts no node is tainted NoExecute, no pod is evicted, and every countdown
 * keeps what is left of it.
 */
import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import { type PauseRequestSpec, pauseRequestSchema } from "../../../protocols/node-policy.ts";
import { apiMicroTime } from "../../domain/api-time.ts";
import { isPolicyName } from "../../platform/config/policies.ts";
import { durationSetting, switchSetting, textSetting } from "../../platform/config/setting-builders.ts";
import { KUBE_SETTINGS, LOG_SETTINGS } from "../../platform/config/settings.ts";
import { ConfigProblem, type ValuesOf } from "../../platform/config/value.ts";
import { type ApiConnection, withApi } from "../connect/api-connection.ts";
import { changeRequests, type RequestsObject } from "../freeze/frozen-object.ts";
import { areAllFrozen, thawed, withRequest } from "../freeze/pause-requests.policy.ts";
import { defineVerb, Failure, type Host, type Verb } from "../verb.ts";

const SCOPE = {
  policy: textSetting("policy", "gpu", "The NodePolicy whose nodes are meant."),
  all: switchSetting("all", false, "All nodes, whatever their policies."),
  ...KUBE_SETTINGS,
  ...LOG_SETTINGS,
} as const;

const SETTINGS = {
  ...SCOPE,
  forMs: durationSetting("for", 0, "When the freeze ends by itself, from now on; 0: when it is thawed."),
  reason: textSetting("reason", "switch maintenance", "Why, for everybody who looks."),
  by: textSetting("by", "oncall", "Who freezes.", "vigil freeze"),
} as const;

/** When a freeze by the name of a policy has an effect although no object of that name is in force. */
const ELSEWHERE = "the freeze takes effect where policies: of --config has one of this name";

type ScopeValues = Readonly<ValuesOf<typeof SCOPE>>;

/** The verb that freezes nodes. */
export const freezeVerb: Verb = defineVerb({
  name: "freeze",
  summary: "evict no pod and taint nothing NoExecute, until thawed; healing goes on",
  liveNames: new Map([["--policy", "policies"]]),
  settings: SETTINGS,
  examples: [
    { command: "vigil freeze --all --reason='network outage'", does: "every node, at once: for an emergency" },
    { command: "vigil freeze --policy=gpu --for=2h", does: "the nodes of one policy, for two hours" },
  ],
  run: async (values, _words, host) => {
    const policy = scopeOf("freeze", values);
    if (policy !== null && !isPolicyName(policy)) throw new ConfigProblem(noName(policy));
    return withApi(values, host, async ({ kube, clock }) => {
      const at = clock.wallMs();
      const request = requestOf(values, at);
      const where = await changeRequests(kube, policy, (requests, isShared) =>
        withRequest(requests, isShared && policy !== null ? { ...request, policy } : request, at),
      );
      const until = request.until === undefined ? "" : ` until ${request.until}`;
      host.print(`frozen: ${scopeText(policy)}${until} (${where.name})\n`);
      if (policy !== null && where.isShared) host.warn(`vigil: ${noObject(policy)}: ${ELSEWHERE}\n`);
      if (where.isRefused) host.warn(`vigil: ${where.name} applies to no node, as its conditions say: ${ELSEWHERE}\n`);
    });
  },
});

/** The verb that ends freezes. */
export const thawVerb: Verb = defineVerb({
  name: "thaw",
  summary: "end freezes; every countdown goes on with what was left of it",
  liveNames: new Map([["--policy", "policies"]]),
  settings: SCOPE,
  examples: [
    { command: "vigil thaw --policy=gpu", does: "the freezes of one policy" },
    { command: "vigil thaw --all", does: "the freezes of all nodes; those of single policies stay" },
  ],
  run: async (values, _words, host) => {
    const policy = scopeOf("thaw", values);
    return withApi(values, host, async (io) => {
      const own = await endRequests(io, policy, policy);
      // The ConfigMap may have some for it too, from when it was a policy of --config.
      const shared = own.isShared ? own : await endRequests(io, null, policy).catch((problem) => unread(host, problem));
      const names = [...new Set([own, shared])].flatMap((each) => (each?.isEnded ? [each.name] : []));
      if (names.length > 0) host.print(`thawed: ${scopeText(policy)} (${names.join(", ")})\n`);
      if (own.freezingMode !== null)
        host.print(`${own.name} has mode: ${own.freezingMode}, which freezes its nodes until you change it\n`);
      if (shared?.areAllFrozen) host.print("all nodes are frozen: vigil thaw --all\n");
      else if (shared !== null && names.length === 0 && own.freezingMode === null)
        host.print(`no request freezes ${scopeText(policy)} (${own.name})\n`);
      if (policy !== null && own.isShared)
        host.warn(`vigil: ${noObject(policy)}: one of --config may freeze its nodes by its mode\n`);
    });
  },
});

interface EndedRequests extends RequestsObject {
  readonly isEnded: boolean;
  /** Whether all nodes are frozen, although only the requests for a policy were to end. */
  readonly areAllFrozen: boolean;
}

/** Ends the requests for a policy, or for all nodes, in the object of a scope. Throws a Failure. */
async function endRequests(
  { kube, clock }: Pick<ApiConnection, "kube" | "clock">,
  scope: string | null,
  policy: string | null,
): Promise<EndedRequests> {
  let isEnded = false;
  let isFrozenAnyway = false;
  const object = await changeRequests(kube, scope, (requests, isShared) => {
    const after = thawed(requests, isShared ? (policy ?? undefined) : undefined, clock.wallMs());
    isEnded = after.ended > 0;
    isFrozenAnyway = isShared && policy !== null && areAllFrozen(requests, clock.wallMs());
    return isEnded ? after.requests : null;
  });
  return { ...object, isEnded, areAllFrozen: isFrozenAnyway };
}

function unread(host: Host, problem: unknown): null {
  if (!(problem instanceof Failure)) throw problem;
  const { kind, namespace, name } = FREEZE_CONFIG_MAP;
  host.warn(`vigil: requests in ${kind} ${namespace}/${name} may go on: ${problem.message}\n`);
  return null;
}

/** Throws a ConfigProblem for a text that the policy service would refuse: it would freeze no node. */
function requestOf({ by, reason, forMs }: Readonly<ValuesOf<typeof SETTINGS>>, at: number): PauseRequestSpec {
  const request = {
    name: by,
    ...(reason === "" ? {} : { reason }),
    since: apiMicroTime(at),
    ...(forMs === 0 ? {} : { until: apiMicroTime(at + forMs) }),
  };
  const issue = pauseRequestSchema.safeParse(request).error?.issues[0];
  if (issue === undefined) return request;
  throw new ConfigProblem(`freeze: --${issue.path[0] === "name" ? "by" : "reason"}: ${issue.message}`);
}

function noObject(policy: string): string {
  return `there is no NodePolicy ${policy}`;
}

function scopeOf(verb: string, { policy, all }: ScopeValues): string | null {
  if (all === (policy !== "")) throw new ConfigProblem(`${verb}: name --policy=NAME or --all, and not both`);
  return all ? null : policy;
}

function noName(policy: string): string {
  return `freeze: --policy=${policy}: no policy has such a name; write that of one policy, such as gpu`;
}

function scopeText(policy: string | null): string {
  return policy === null ? "all nodes" : `the nodes of policy ${policy}`;
}
