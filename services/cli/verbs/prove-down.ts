/** `vigil prove-down`: a user reports that the machine of a silent node is off, for policies with `outOfService`. */
import { TUNABLES } from "../../../protocols/profile.ts";
import { apiTime } from "../../domain/api-time.ts";
import { PROOF_WORDS_MAX } from "../../domain/down-proof.ts";
import { switchSetting, textSetting } from "../../platform/config/setting-builders.ts";
import { KUBE_SETTINGS, LOG_SETTINGS } from "../../platform/config/settings.ts";
import { ConfigProblem, type ValuesOf } from "../../platform/config/value.ts";
import { serverVersion } from "../../platform/kube/transport/server-version.ts";
import { withApi } from "../connect/api-connection.ts";
import { proveDown, withdrawProof } from "../prove-down/prove-down.ts";
import { userName } from "../prove-down/user-name.ts";
import { missingSupport } from "../stuck/out-of-service-support.policy.ts";
import { defineVerb, type Verb } from "../verb.ts";

const SETTINGS = {
  reason: textSetting("reason", "powered off in the console", "How you know that the machine is off; required."),
  by: textSetting("by", "oncall", "Who says it; by default the user of the kubeconfig, where the API server names it."),
  withdraw: switchSetting("withdraw", false, "Take the proof back; a taint that rests on it goes too."),
  nodeMonitorGraceMs: {
    ...TUNABLES.nodeMonitorGraceMs,
    meaning: "A lease that was renewed within this time shows that the node is alive.",
  },
  ...KUBE_SETTINGS,
  ...LOG_SETTINGS,
} as const;
type Values = Readonly<ValuesOf<typeof SETTINGS>>;

/** The verb that proves a node down. */
export const proveDownVerb: Verb = defineVerb({
  name: "prove-down",
  summary: "say that the machine of a silent node is off, so that its node may be declared out of service",
  words: "NODE",
  liveNames: new Map([["", "nodes"]]),
  settings: SETTINGS,
  examples: [
    {
      command: "vigil prove-down worker-7 --reason='powered off in the console'",
      does: "refused while the node is alive; where its policy has outOfService, its pods may then move",
    },
    { command: "vigil prove-down worker-7 --withdraw", does: "takes that back" },
  ],
  run: async (values, words, host) => {
    const [node = "", extra] = words;
    checkUse(values, node, extra);
    return withApi(values, host, async ({ kube, clock, wire }) => {
      const io = { kube, nowAt: () => clock.wallMs() };
      if (values.withdraw) {
        const had = await withdrawProof(io, node);
        host.print(had ? `withdrawn: node ${node} is not proved down\n` : `node ${node} was not proved down\n`);
        return;
      }
      const by = (
        values.by ||
        (await userName({ wire, clock })) ||
        host.environment.USER ||
        "a user whose name is not known"
      ).slice(0, PROOF_WORDS_MAX);
      const graceMs = values.nodeMonitorGraceMs;
      const proof = await proveDown(io, node, { by, reason: values.reason, graceMs });
      host.print(`proved down: node ${node} at ${apiTime(proof.at)} by ${proof.by}: ${proof.reason}\n`);
      const missing = missingSupport(await serverVersion({ wire, clock }));
      if (missing !== null) host.warn(`vigil: ${missing.text}: see vigil get stuck -o wide\n`);
    });
  },
});

/** Throws a ConfigProblem for a command that is not complete. */
function checkUse({ reason, withdraw, by }: Values, node: string, extra: string | undefined): void {
  if (node === "") throw new ConfigProblem("prove-down: name a node, as in vigil prove-down worker-7 --reason=…");
  if (extra !== undefined) throw new ConfigProblem(`prove-down ${node} ${extra}: name one node`);
  if (withdraw && reason !== "") throw new ConfigProblem(`prove-down ${node}: --withdraw takes no --reason`);
  if (!withdraw && reason === "") {
    throw new ConfigProblem(`prove-down ${node}: give --reason='how you know that its machine is off'`);
  }
  for (const [flag, words] of Object.entries({ reason, by })) {
    if (words.length > PROOF_WORDS_MAX)
      throw new ConfigProblem(`--${flag}: must be at most ${PROOF_WORDS_MAX} characters`);
  }
}
