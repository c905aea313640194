/** The settings of a process besides the profile: cluster, NATS, services, console and log. */
import { SERVICE_NAMES, type ServiceName } from "../../../protocols/ports.ts";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "../process/log.ts";
import {
  choiceSetting as choice,
  durationSetting as duration,
  listSetting as list,
  switchSetting,
  textSetting as text,
} from "./setting-builders.ts";
import type { Setting, ValuesOf } from "./value.ts";

const off = (flag: string, meaning: string): Setting<boolean> => switchSetting(flag, false, meaning);

/** How to reach the Kubernetes API. */
export const KUBE_SETTINGS = {
  kubeconfig: text(
    "kubeconfig",
    "~/.kube/config",
    "Kubeconfig file; without it KUBECONFIG, ~/.kube/config, or the service account of the pod.",
  ),
  context: text("context", "kind-dev", "Context of the kubeconfig; without it the current one."),
  allowTokenOverHttp: off(
    "allow-token-over-http",
    "Send the token or password of the kubeconfig to an http:// server too, in plain text.",
  ),
} as const;

/** How to reach NATS. */
export const NATS_SETTINGS = {
  nats: list(
    "nats",
    "nats://127.0.0.1:4222",
    "NATS servers that connect the processes of a fleet; without them the process runs alone, in memory.",
  ),
  natsCreds: text("nats-creds", "vigil.creds", "NATS credentials file (JWT and seed)."),
  natsNkey: text("nats-nkey", "vigil.nk", "File with an NKey seed for NATS."),
  natsTlsCa: text("nats-tls-ca", "ca.pem", "Certificate authority that NATS servers are checked against."),
  natsTlsCert: text("nats-tls-cert", "vigil.pem", "Client certificate for NATS."),
  natsTlsKey: text("nats-tls-key", "vigil.key", "Key of the client certificate for NATS."),
  cluster: text("cluster", "prod-eu", "Name of the Kubernetes cluster, unique among installs on one NATS.", "default"),
} as const;

/** Credentials for the ledger's history, where NATS keeps it in an account of its own, as the deployed roles do. */
export const HISTORY_SETTINGS = {
  natsHistoryCreds: text(
    "nats-history-creds",
    "history.creds",
    "NATS credentials file of the account that keeps the ledger's history; without it that of --nats-creds.",
  ),
  natsHistoryNkey: text(
    "nats-history-nkey",
    "history.nk",
    "File with an NKey seed of the account that keeps the ledger's history; without it that of --nats-nkey.",
  ),
} as const;

/** Which of several processes without NATS is active: the flags of kube-controller-manager, with its defaults. */
export const ELECTION_SETTINGS = {
  leaderElect: off(
    "leader-elect",
    "Without NATS: lead only while this process holds a Lease, and stand by to take over from the process that does.",
  ),
  leaderElectLeaseDurationMs: duration(
    "leader-elect-lease-duration",
    15_000,
    "How long a standby waits after the last renewal that it saw before it takes the Lease.",
    1_000,
  ),
  leaderElectRenewDeadlineMs: duration(
    "leader-elect-renew-deadline",
    10_000,
    "How long after its last renewal the leader stops and ends; shorter than the lease duration.",
    1,
  ),
  leaderElectRetryPeriodMs: duration(
    "leader-elect-retry-period",
    2_000,
    "Pause between renewals of the Lease, and between attempts to take it.",
    1,
  ),
  leaderElectResourceLock: choice<"leases">(
    "leader-elect-resource-lock",
    ["leases"],
    "leases",
    "Accepted for compatibility with kube-controller-manager; the lock is always a Lease.",
  ),
  leaderElectResourceName: text("leader-elect-resource-name", "vigil", "Name of the Lease.", "vigil"),
  leaderElectResourceNamespace: text(
    "leader-elect-resource-namespace",
    "vigil-system",
    "Namespace of the Lease.",
    "kube-system",
  ),
} as const;

/** How a process logs. */
export const LOG_SETTINGS = {
  logLevel: choice<LogLevel>("log-level", LOG_LEVELS, "info", "The least severe lines to log."),
  logFormat: choice<LogFormat>(
    "log-format",
    LOG_FORMATS,
    "auto",
    "How lines are logged; auto is text on a terminal and json elsewhere.",
  ),
} as const;

/** What this process does. */
export const OWN_SETTINGS = {
  shadow: off("shadow", "Write nothing: record what would have been written. Needs read-only access alone."),
  allowShortGrace: off(
    "allow-short-grace",
    "Start with --upstream=beside although the grace period is shorter than two lease renewals of the kubelets.",
  ),
  services: {
    unit: "list",
    flag: "services",
    standard: SERVICE_NAMES,
    choices: SERVICE_NAMES,
    meaning: "The services this process runs; without all of them it needs --nats to reach the others.",
    example: "node,zone",
  } as Setting<readonly ServiceName[]>,
  member: text("member", "vigil-0", "Name of this process in the fleet; by default the host name and process id."),
  listen: text("listen", ":8080", "Address to serve /livez, /readyz, /metrics and the dashboard on; by default none."),
  listenTlsCert: text("listen-tls-cert", "tls.crt", "Certificate of --listen for TLS; a renewed file is reloaded."),
  listenTlsKey: text("listen-tls-key", "tls.key", "Key of the certificate for --listen."),
  listenTokenFile: text(
    "listen-token-file",
    "console.token",
    "File with the token that requests to --listen must carry, as bearer token or password; probes need none.",
  ),
  listenAuthentication: choice<"none" | "kubernetes">(
    "listen-authentication",
    ["none", "kubernetes"],
    "none",
    "With kubernetes the API server decides who may use --listen: it reviews the token (TokenReview) and, by RBAC, " +
      "get of the path (SubjectAccessReview). Needs --listen-tls-cert; probes need no token.",
  ),
  listenHosts: list(
    "listen-hosts",
    "vigil.example.com",
    "Public host names under which --listen answers; addresses and names of the cluster always work.",
  ),
  grafanaUrl: text(
    "grafana-url",
    "https://grafana.example.com/d/vigil",
    "Address of Grafana, or of a dashboard in it, to which the dashboard of --listen links; by default no link.",
  ),
  metricsZoneLabel: choice<"readable" | "upstream">(
    "metrics-zone-label",
    ["readable", "upstream"],
    "readable",
    "How metrics name a zone: readable as region/zone, or upstream by its key, which has a NUL byte.",
  ),
} as const;

/** The settings of the command line alone. */
export const META_SETTINGS = {
  configFile: text(
    "config",
    "vigil.yaml",
    "YAML file with any of these settings, named as in --print-config; flags win over it.",
  ),
  printConfig: off("print-config", "Print the resulting configuration as a file that --config reads, and exit."),
} as const;

/** The settings of `vigil run` that are not tunables. */
export const PROCESS_SETTINGS = {
  ...KUBE_SETTINGS,
  ...NATS_SETTINGS,
  ...HISTORY_SETTINGS,
  ...ELECTION_SETTINGS,
  ...OWN_SETTINGS,
  ...LOG_SETTINGS,
} as const;

/** A value for each setting that is no tunable. */
export type ProcessSettings = Readonly<ValuesOf<typeof PROCESS_SETTINGS>>;
