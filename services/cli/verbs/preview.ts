/** `vigil preview`: shows what would follow from a failure, from the live state of a cluster. It reads and writes nothing. */
import type { PolicyReport } from "../../../protocols/ledger-reader.ts";
import { type Profile, STANDARD_PROFILE } from "../../../protocols/profile.ts";
import type { About } from "../../console/console.routes.ts";
import { ratedPoliciesOf } from "../../domain/eviction-rates.ts";
import { parseRunFile } from "../../platform/config/config.ts";
import type { ConfigFile } from "../../platform/config/file.ts";
import {
  choiceSetting,
  countSetting,
  listSetting,
  switchSetting,
  textSetting,
} from "../../platform/config/setting-builders.ts";
import { KUBE_SETTINGS, LOG_SETTINGS } from "../../platform/config/settings.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { createKube } from "../../platform/kube/kube.ts";
import { readOnlyKube } from "../../platform/kube/shadow/shadow-kube.ts";
import { realClock } from "../../platform/process/clock.real.ts";
import { createLog } from "../../platform/process/log.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { systemRandom } from "../../platform/process/random.ts";
import { CONSOLE_SETTINGS, getFromConsole } from "../connect/console-client.ts";
import { jsonText } from "../get/get-printer.ts";
import { idleOf } from "../preview/eviction-times.policy.ts";
import { faultOf } from "../preview/fault.policy.ts";
import { previewOf } from "../preview/preview.policy.ts";
import type { Preview } from "../preview/preview.ts";
import { previewText } from "../preview/preview-printer.ts";
import { type Snapshot, type SnapshotSources, takeSnapshot } from "../preview/snapshot.ts";
import { openCluster } from "../run/open-cluster.ts";
import { RUN_TUNABLES } from "../run/run-tunables.ts";
import { defineVerb, ExitCode, Failure, type Host, readNamedFile, untilStopped, type Verb } from "../verb.ts";

const SETTINGS = {
  zone: textSetting(
    "zone",
    "eu-west-1b",
    "The zone that goes down, as in vigil get zones, with or without its region.",
  ),
  node: listSetting("node", "worker-7", "The nodes that go down."),
  down: switchSetting("down", false, "The kubelets of --zone or --node fall silent now."),
  taint: textSetting(
    "taint",
    "worker-7=maintenance:NoExecute",
    "A taint that is set now, as NODE=KEY[=VALUE]:NoExecute.",
  ),
  output: choiceSetting("output", ["table", "json"], "table", "Output format."),
  config: textSetting(
    "config",
    "vigil.yaml",
    "The file of vigil run --config: its node policies count, and its values for the flags below; flags win over it.",
  ),
  ...CONSOLE_SETTINGS,
  server: textSetting(
    "server",
    "http://127.0.0.1:8080",
    "Console of a running process: its flags count where neither a flag nor --config gives a value.",
  ),
  limit: countSetting("limit", 20, "Most nodes and most pods that the tables show.", 1),
  ...RUN_TUNABLES,
  ...KUBE_SETTINGS,
  ...LOG_SETTINGS,
} as const;
type Values = Readonly<ValuesOf<typeof SETTINGS>>;

/** The verb that previews a failure. */
export const previewVerb: Verb = defineVerb({
  name: "preview",
  summary: "show what would follow if nodes or a zone went down, or a taint were set",
  settings: SETTINGS,
  examples: [
    { command: "vigil preview --zone=eu-west-1b --down", does: "which nodes are tainted when, and which pods go" },
    { command: "vigil preview --node=worker-7,worker-8 --down -o json", does: "the same for two nodes, as JSON" },
    {
      command: "vigil preview --zone=eu-west-1b --down --server=http://127.0.0.1:8080",
      does: "the same with the flags of a running process",
    },
    { command: "vigil preview --taint=worker-7=maintenance:NoExecute", does: "which pods a taint evicts, and when" },
  ],
  run: async (values, _words, host, given) => {
    const faultIn = faultOf(values);
    const { config } = values;
    const filed = config === "" ? NO_FILE : parseRunFile(config, readNamedFile(host, "config", config));
    const running = values.server === "" ? {} : await runningSettings(values, host);
    const profile = profileOf(values, [given, filed.values, new Map(Object.entries(running))]);
    const snapshot = await readSnapshot(values, host, { configured: filed.policies, profile });
    if (snapshot === null) return ExitCode.ok;
    const idle = values.server === "" ? NONE_IDLE : await idlePolicies(values, host, snapshot);
    const source = values.server === "" ? "the flags and --config of this command" : values.server;
    const preview = {
      ...previewOf(snapshot, faultIn(snapshot.nodes), profile, idle),
      ...assumedFrom(profile, source),
    };
    host.print(values.output === "json" ? jsonText(preview) : previewText(preview, values.limit));
    return ExitCode.ok;
  },
});

/** What a run without --config has. */
const NO_FILE: ConfigFile = { values: new Map(), policies: [] };

/** The first source that has a value counts. */
function profileOf(values: Values, sources: readonly { readonly get: (name: string) => unknown }[]): Profile {
  const tuned = Object.keys(RUN_TUNABLES).map((name) => [
    name,
    sources.map((source) => source.get(name)).find((value) => value !== undefined) ??
      values[name as keyof typeof RUN_TUNABLES],
  ]);
  return { ...STANDARD_PROFILE, ...Object.fromEntries(tuned) };
}

/** The flags of a running process. Throws a Failure if it does not report them. */
async function runningSettings(values: Values, host: Host): Promise<Readonly<Partial<Profile>>> {
  const { settings } = await getFromConsole<Partial<About>>(values, "/api/about", host);
  if (settings !== undefined) return settings;
  throw new Failure(`--server=${values.server}: it does not report its flags; leave --server out and give them here`);
}

const NONE_IDLE: ReadonlySet<string> = new Set();

/** The rated policies of which a running process knows that no eviction counts now; none where it knows nothing. */
async function idlePolicies(values: Values, host: Host, { policies: inForce }: Snapshot): Promise<ReadonlySet<string>> {
  if (ratedPoliciesOf(inForce).size === 0) return NONE_IDLE;
  try {
    const { policies = [] } = await getFromConsole<PoliciesAnswer>(values, "/api/policies", host);
    return idleOf(policies);
  } catch (problem) {
    if (problem instanceof Failure) return NONE_IDLE;
    throw problem;
  }
}

interface PoliciesAnswer {
  readonly policies?: readonly PolicyReport[];
}

function assumedFrom(profile: Profile, source: string): Pick<Preview, "assumes"> {
  const { nodeMonitorGraceMs, nodeEvictionsPerSecond, secondaryNodeEvictionsPerSecond } = profile;
  return { assumes: { nodeMonitorGraceMs, nodeEvictionsPerSecond, secondaryNodeEvictionsPerSecond, source } };
}

/** The cluster as it is now; null when the process was stopped before. Throws a Failure. */
async function readSnapshot(
  values: Values,
  host: Host,
  sources: Pick<SnapshotSources, "configured" | "profile">,
): Promise<Snapshot | null> {
  const clock = realClock();
  const log = createLog({ level: values.logLevel, format: values.logFormat });
  const cluster = await openCluster(values, { clock, log, host });
  if (cluster === null) return null;
  const io = { wire: cluster.wire, clock, random: systemRandom, log, metrics: createMetrics() };
  const kube = readOnlyKube(createKube({ ...io, profile: STANDARD_PROFILE }), (run) => clock.soon(run));
  const taken = Promise.withResolvers<Snapshot>();
  const stop = takeSnapshot({ kube, clock, ...sources }, taken.resolve);
  const snapshot = await Promise.race([taken.promise, untilStopped(host).then(() => null)]);
  stop();
  cluster.wire.close();
  return snapshot;
}
