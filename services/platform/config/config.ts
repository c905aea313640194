/** The configuration of `vigil run`: flags win over the file, and the file over defaults. */
import { type Profile, STANDARD_PROFILE, TUNABLES } from "../../../protocols/profile.ts";
import type { ConfiguredPolicy } from "../../domain/node-policy.parse.ts";
import { readNatsAddresses, shownNatsAddress } from "../bus/nats.address.ts";
import { checkElection, electionRemarks } from "./election.ts";
import { type ConfigFile, fieldOf, parseConfigFile } from "./file.ts";
import { type Alias, parseFlags, refuseWords } from "./flags.ts";
import { FEATURE_GATES, readFeatureGates } from "./gates.ts";
import {
  ELECTION_SETTINGS,
  HISTORY_SETTINGS,
  KUBE_SETTINGS,
  LOG_SETTINGS,
  META_SETTINGS,
  NATS_SETTINGS,
  OWN_SETTINGS,
  PROCESS_SETTINGS,
  type ProcessSettings,
} from "./settings.ts";
import { ConfigProblem, type Setting, type SettingTable, type SettingValue, writeValue } from "./value.ts";

/** The whole configuration of a process. */
export interface Config {
  readonly process: ProcessSettings;
  readonly profile: Profile;
  /** The node policies of the --config file. */
  readonly policies: readonly ConfiguredPolicy[];
}

/** What a command line of `vigil run` requests. */
export interface RunRequest {
  readonly config: Config;
  readonly printConfig: boolean;
  readonly help: boolean;
  /** Lines about flags that have no effect. */
  readonly remarks: readonly string[];
}

const FILE_SETTINGS: SettingTable = { ...PROCESS_SETTINGS, ...TUNABLES };

/** Flags of kube-controller-manager that are no settings of Vigil. */
const FOREIGN_SETTINGS: SettingTable = { featureGates: FEATURE_GATES };

/** Every flag of `vigil run`. */
export const RUN_SETTINGS: SettingTable = {
  ...PROCESS_SETTINGS,
  ...META_SETTINGS,
  ...FOREIGN_SETTINGS,
  ...TUNABLES,
};

/** The same flags in the groups of the help. */
export const RUN_SECTIONS: readonly { readonly title: string; readonly settings: SettingTable }[] = [
  {
    title: "Flags of kube-controller-manager",
    settings: { ...tunablesWhere(true), ...ELECTION_SETTINGS, ...FOREIGN_SETTINGS },
  },
  { title: "Which cluster", settings: KUBE_SETTINGS },
  { title: "NATS, for more than one process", settings: { ...NATS_SETTINGS, ...HISTORY_SETTINGS } },
  { title: "This process", settings: { ...OWN_SETTINGS, ...LOG_SETTINGS, ...META_SETTINGS } },
  { title: "Flags of Vigil's own", settings: tunablesWhere(false) },
];

/** Flags of kube-controller-manager that correspond to a setting of Vigil under another name. */
export const RUN_ALIASES: ReadonlyMap<string, Alias> = new Map(
  Object.entries<Alias>({
    "enable-taint-manager": {
      flag: "eviction-mode",
      meaning: "true is --eviction-mode=taint, false is --eviction-mode=direct.",
      example: "true or false",
      bare: "true",
      rewrite: (value) => ({ true: "taint", false: "direct" })[value] ?? null,
    },
    controllers: {
      flag: "services",
      meaning: "Which controllers to run, as --services; controllers that are not Vigil's are ignored.",
      example: "*,-taint-eviction-controller",
      rewrite: servicesOfControllers,
    },
  }),
);

/** Services whose work upstream's controllers do under --upstream=beside. */
const UPSTREAMS_SERVICES: readonly string[] = ["zone", "taint-manager"];

/** Defaults under --upstream=beside. */
const BESIDE_UPSTREAM: ReadonlyMap<string, SettingValue> = new Map([
  ["services", PROCESS_SETTINGS.services.standard.filter((name) => !UPSTREAMS_SERVICES.includes(name))],
]);

/** Pairs where the second must be longer than the first. */
const ORDERED: readonly (readonly [keyof typeof TUNABLES, keyof typeof TUNABLES])[] = [
  ["pulsePeriodMs", "pulseTimeoutMs"],
  ["memberPulseMs", "memberTimeoutMs"],
];

/** Longest name of a process: with the longest name of a service it fits into the source of a message. */
const MEMBER_CHARACTERS_MAX = 240;

const NATS_FILES = [
  "natsCreds",
  "natsNkey",
  "natsTlsCa",
  "natsTlsCert",
  "natsTlsKey",
  "natsHistoryCreds",
  "natsHistoryNkey",
] as const;

/** Parses a command line; `readFile` returns the text of the --config file. Throws a ConfigProblem. */
export function parseRun(argv: readonly string[], readFile: (path: string) => string): RunRequest {
  const { given, words, help } = parseFlags(argv, RUN_SETTINGS, RUN_ALIASES);
  refuseWords("run", words);
  const file = given.get("configFile");
  const isFiled = typeof file === "string" && !help;
  const filed = isFiled ? parseRunFile(file, readFile(file)) : { values: new Map(), policies: [] };
  const gates = readFeatureGates(help ? [] : textsOf(given.get("featureGates")));
  const config = { ...configOf(new Map([...filed.values, ...gates.set, ...given])), policies: filed.policies };
  if (!help) checkTogether(config);
  return {
    config,
    printConfig: given.get("printConfig") === true,
    help,
    remarks: [...gates.remarks, ...electionRemarks(config.process)],
  };
}

/** Parses the text of a file for --config; `file` names it in problems. Throws a ConfigProblem. */
export function parseRunFile(file: string, text: string): ConfigFile {
  return parseConfigFile(file, text, FILE_SETTINGS);
}

/**
 * The configuration as a file for --config, each field under its meaning. Credentials in addresses are hidden, and such
 * a file is refused until they are filled in.
 */
export function printConfig({ process, profile, policies }: Config): string {
  const shown = { ...process, nats: process.nats.map(shownNatsAddress) };
  const { bounds: _, ...tunables } = profile;
  const values: Readonly<Record<string, SettingValue>> = { ...shown, ...tunables };
  const fields = Object.entries(FILE_SETTINGS).map(
    ([name, setting]) => `# ${setting.meaning}\n${fieldOf(setting.flag)}: ${yamlOf(setting, values[name])}\n`,
  );
  const meaning = "# Node policies, each with the spec of a NodePolicy object.";
  return [...fields, `${meaning}\npolicies: ${JSON.stringify(policies)}\n`].join("");
}

function textsOf(value: SettingValue | undefined): readonly string[] {
  return typeof value === "object" ? value : [];
}

function tunablesWhere(upstream: boolean): SettingTable {
  return Object.fromEntries(Object.entries(TUNABLES).filter(([, tunable]) => tunable.upstream === upstream));
}

function configOf(given: ReadonlyMap<string, SettingValue>): Omit<Config, "policies"> {
  const values = given.get("upstream") === "beside" ? new Map([...BESIDE_UPSTREAM, ...given]) : given;
  const pick = <T extends SettingTable>(table: T) =>
    Object.fromEntries(Object.entries(table).map(([name, { standard }]) => [name, values.get(name) ?? standard]));
  return {
    process: pick(PROCESS_SETTINGS) as ProcessSettings,
    profile: { ...STANDARD_PROFILE, ...pick(TUNABLES) },
  };
}

function checkTogether({ process, profile }: Pick<Config, "process" | "profile">): void {
  const shown = (name: keyof typeof TUNABLES): string =>
    `--${TUNABLES[name].flag}=${writeValue(TUNABLES[name], profile[name])}`;
  for (const [shorter, longer] of ORDERED) {
    if (profile[shorter] < profile[longer]) continue;
    throw new ConfigProblem(`${shown(longer)}: must be longer than ${shown(shorter)}`);
  }
  if (profile.askRetryMs > profile.askRetryMaxMs)
    throw new ConfigProblem(`${shown("askRetryMs")}: must not be longer than ${shown("askRetryMaxMs")}`);
  if (process.member.length > MEMBER_CHARACTERS_MAX) {
    const flag = `--${PROCESS_SETTINGS.member.flag}=${process.member}`;
    throw new ConfigProblem(`${flag}: must have at most ${MEMBER_CHARACTERS_MAX} characters`);
  }
  const alone = NATS_FILES.find((name) => process[name] !== "" && process.nats.length === 0);
  if (alone !== undefined) throw new ConfigProblem(`--${PROCESS_SETTINGS[alone].flag}: needs --nats`);
  checkNats(process.nats);
  checkElection(process);
  checkListen(process);
  checkUpstream(process, profile);
  if (process.services.length === 0) throw new ConfigProblem("--services=: name at least one service");
  if (process.nats.length === 0 && !process.services.includes("observer")) {
    throw new ConfigProblem(`--services=${process.services.join()}: without --nats the observer must be among them`);
  }
}

function checkUpstream({ services }: ProcessSettings, { upstream, evictionMode }: Profile): void {
  if (upstream !== "beside") return;
  const idle = services.filter((name) => UPSTREAMS_SERVICES.includes(name));
  if (idle.length > 0) {
    const fix = `leave ${idle.join(" and ")} out, because upstream's controllers taint and evict`;
    throw new ConfigProblem(`--services=${services.join()}: with --upstream=beside ${fix}`);
  }
  if (evictionMode === "taint") return;
  throw new ConfigProblem(`--eviction-mode=${evictionMode}: must be taint with --upstream=beside`);
}

function checkListen(process: ProcessSettings): void {
  const { listen, listenTlsCert, listenTlsKey } = process;
  for (const name of ["listenTlsCert", "listenTlsKey", "listenTokenFile", "listenHosts", "grafanaUrl"] as const) {
    if (process[name].length === 0 || listen !== "") continue;
    throw new ConfigProblem(`--${PROCESS_SETTINGS[name].flag}: needs --listen`);
  }
  checkGrafana(process.grafanaUrl);
  if (process.listenAuthentication === "kubernetes") checkDelegated(process);
  if ((listenTlsCert === "") === (listenTlsKey === "")) return;
  const [given, missing] = listenTlsKey === "" ? ["cert", "key"] : ["key", "cert"];
  const where = `--listen-tls-${given}=${listenTlsCert || listenTlsKey}`;
  throw new ConfigProblem(`${where}: needs --listen-tls-${missing}`);
}

/** The address is visible to every reader of the dashboard. */
function checkGrafana(address: string): void {
  if (address === "") return;
  const url = URL.parse(address);
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
  const flag = `--${PROCESS_SETTINGS.grafanaUrl.flag}`;
  if (!isWeb) throw new ConfigProblem(`${flag}=${address}: not a URL that begins with https:// or http://`);
  if (url.username + url.password === "") return;
  throw new ConfigProblem(`${flag}: must have no user and no password, because the dashboard shows it`);
}

/** A token of the cluster opens more than the console, so it must not be sent in plain text. */
function checkDelegated({ listen, listenTlsCert }: ProcessSettings): void {
  const flag = "--listen-authentication=kubernetes";
  if (listen === "") throw new ConfigProblem(`${flag}: needs --listen`);
  if (listenTlsCert !== "") return;
  throw new ConfigProblem(`${flag}: accepts tokens of the cluster over TLS only; give --listen-tls-cert`);
}

/** Checks addresses at once rather than when the API server has answered. */
function checkNats(servers: readonly string[]): void {
  try {
    readNatsAddresses(servers);
  } catch (problem) {
    const why = problem instanceof Error ? problem.message : String(problem);
    throw new ConfigProblem(`--${PROCESS_SETTINGS.nats.flag}: ${why}`);
  }
}

function yamlOf(setting: Setting, value: SettingValue | undefined): string {
  const text = writeValue(setting, value ?? setting.standard);
  if (setting.unit === "list") return JSON.stringify(value);
  return setting.unit === "text" ? JSON.stringify(text) : text;
}

function servicesOfControllers(list: string): string {
  const names = list.split(",").map((name) => name.trim());
  const runs = (...spellings: string[]) =>
    !spellings.some((name) => names.includes(`-${name}`)) && ["*", ...spellings].some((name) => names.includes(name));
  const [judges, evicts] = [runs("node-lifecycle-controller", "nodelifecycle"), runs("taint-eviction-controller")];
  if (!judges && !evicts) {
    // A flag list made for kube-controller-manager is easily given to Vigil too.
    const fix = "name node-lifecycle-controller or taint-eviction-controller, or leave the flag out";
    throw new ConfigProblem(`--controllers=${list}: leaves Vigil nothing to decide; ${fix}`);
  }
  const stopped = [...(judges ? [] : ["node", "zone", "node-writer"]), ...(evicts ? [] : ["taint-manager"])];
  return PROCESS_SETTINGS.services.standard.filter((name) => !stopped.includes(name)).join(",");
}
