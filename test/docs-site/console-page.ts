/** Writes docs/reference/console.md: each answer is one that the routes of the console give about a small cluster. */
import type { MemberReport } from "../../services/cli/get/fleet-members.ts";
import { answerTo } from "../../services/console/console.routes.ts";
import { nodePolicyOf } from "../../services/domain/node-policy.parse.ts";
import { policySet } from "../../services/domain/node-policy.ts";
import { fixedPolicies } from "../../services/platform/node-policies/policy-receiver.ts";
import {
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  livePod,
  seePulses,
  UNREACHABLE,
} from "../ledger/ledger-world.ts";
import { observedNode } from "../support/observed-objects.ts";

const HEAD = `# JSON of the console

<!-- Written by \`npm run fix\` from the routes in services/console/; do not edit. -->

A process with \`--listen\` answers these paths with GET. The dashboard, \`vigil get\`, \`vigil explain\` and \`vigil top\`
use them too. All but \`/api/about\`, \`/api/fleet\` and the probes need a process that runs the service \`ledger\`, and
that leads where processes elect a leader. Instants are epoch milliseconds, durations milliseconds. A zone is named by
its key, \`region:<NUL>:zone\`. An answer may get more fields later. A fault is \`{"error": "…"}\` with status 400, 404
or 503. Below, what an earlier answer shows is a text that names its path. The same facts with readable instants are
answered over NATS: [Listen to Vigil](../listen.md#queries). Who may ask is in
[Run Vigil in a cluster](../how-to/console-access.md).

Besides, there are \`/metrics\` ([Metrics](../metrics.md)), the probes \`/livez\`, \`/healthz\` and \`/readyz\`, each with
\`?verbose\`, and \`/api/stream\`, the events of the dashboard.`;

interface Path {
  readonly path: string;
  readonly meaning: string;
}

const PATHS: readonly Path[] = [
  { path: "/api/about", meaning: "What this process is." },
  { path: "/api/overview", meaning: "Counts of nodes, every zone, and the state of the watches." },
  { path: "/api/zones", meaning: "Every zone: state, eviction rate in nodes per second, tokens and queue." },
  {
    path: "/api/nodes?readiness=unknown&limit=100",
    meaning:
      "Nodes by name. `readiness` (`starting`, `ready`, `notReady`, `unknown`), `zone`, `policy`, `name` (again for " +
      "each) and `search` (a part of the name) select; `order=trouble` puts silent nodes first; `limit` is 100 by default.",
  },
  { path: "/api/policies", meaning: "The node policies in force: nodes, limits, freezes." },
  { path: "/api/evictions?limit=100", meaning: "The pods to be evicted, soonest first." },
  {
    path: "/api/explain/node/worker-7",
    meaning:
      "Why a node is in its state. For each sentence `names` says which of its characters, `from` up to `to` in UTF-16 " +
      "code units, name a node, a pod, a zone or a node policy; an entry of the timeline has `names` for its `text`.",
  },
  { path: "/api/explain/pod/shop/cart-0", meaning: "The same of a pod, which is read live." },
  { path: "/api/explain/zone/eu-west-1b", meaning: "The same of a zone." },
  { path: "/api/explain/policy/gpu", meaning: "What a node policy does." },
  { path: "/api/decisions?limit=3", meaning: "The latest decisions, the newest first." },
  { path: "/api/timeline", meaning: "What the timeline of the dashboard shows." },
  { path: "/api/compare?since=0", meaning: "What Vigil and other controllers did since an instant." },
  { path: "/api/fleet", meaning: "The processes of the fleet." },
];

const ABOUT = {
  cluster: "default",
  member: "vigil-0",
  services: ["observer", "node", "zone", "taint-manager", "node-writer", "pod-writer", "ledger", "policy"],
  shadow: false,
  beside: false,
  version: "0.1.0",
};
const MEMBER: MemberReport = {
  member: "vigil-0",
  services: ABOUT.services,
  since: Date.UTC(2026, 0, 1),
  lagMs: 1,
  clusterUid: "6e1f0c1a-2b9e-4a55-9d3d-0c7a4b8f2e11",
  unableSince: null,
  withheld: [],
  shards: 512,
};
const ZONE = "eu-west-1:\u0000:eu-west-1b";
const TOLERATED_MS = 300_000;

/** The page with one answer for each path. */
export async function consolePage(): Promise<string> {
  const world = troubledWorld();
  const sections: string[] = [];
  const shown = new Map<string, string>();
  for (const { path, meaning } of PATHS) {
    const answer = JSON.stringify(shownOnce(await answerOf(path, world), path, shown), null, 2);
    sections.push(`## ${path}\n\n${meaning}\n\n\`\`\`json\n${answer}\n\`\`\``);
  }
  return `${[HEAD, ...sections].join("\n\n")}\n`;
}

/** One silent node of two, with a pod that may stay for a while. */
function troubledWorld(): LedgerWorld {
  const gpu = nodePolicyOf("gpu", { selector: { matchLabels: { pool: "gpu" } }, nodeMonitorGracePeriod: "20s" });
  const world = ledgerWorld({ policies: fixedPolicies(policySet([gpu])) });
  const { clock, receive, kube } = world;
  const startAt = clock.wallMs();
  const ready = { zone: ZONE, since: startAt, heartbeatAt: startAt };
  for (const name of ["worker-6", "worker-7"]) {
    receive("observed.node", observedNode(name), null);
    receive("judged.node", judgedNode(name, ready), null);
  }
  receive("judged.zone", judgedZone({ zone: ZONE, size: 2, since: startAt }), null);
  clock.advance(50_000);
  const since = clock.wallMs();
  const verdict = judgedNode("worker-7", {
    ...ready,
    since,
    readiness: "unknown",
    ready: "Unknown",
    eviction: "evicted",
  });
  const taintedFrom = receive("judged.node", verdict, null);
  const taints = [{ ...UNREACHABLE, timeAdded: new Date(since).toISOString() }];
  receive("observed.node", observedNode("worker-7", { ready: "Unknown", resourceVersion: "2", taints }), taintedFrom);
  receive("judged.zone", judgedZone({ zone: ZONE, size: 2, notReady: 1, since: startAt }), null);
  const pod = { namespace: "shop", name: "cart-0", uid: "uid-cart-0", node: "worker-7" };
  receive("judged.pod", judgedPod({ ...pod, deadlineAt: since + TOLERATED_MS }), null);
  kube.pods.set("shop/cart-0", livePod({ metadata: pod, spec: { nodeName: pod.node } }));
  seePulses(world);
  clock.advance(1000);
  seePulses(world);
  return world;
}

async function answerOf(path: string, { clock, ledger }: LedgerWorld): Promise<unknown> {
  const parts = { about: ABOUT, ledger: ledger.reader, fleet: async () => [MEMBER], readiness: () => [] };
  const sources = { ...parts, standby: null };
  const answer = answerTo(new URL(path, "http://console"), sources);
  clock.advance(0);
  const { status, body } = (await answer) ?? { status: 404, body: "no such path" };
  if (status !== 200) throw new Error(`${path}: ${body}`);
  return JSON.parse(body);
}

const FIELDS_WORTH_A_REFERENCE = 4;

/** An answer in which objects and lists that an earlier answer shows are texts that name its path. */
function shownOnce(value: unknown, path: string, shown: Map<string, string>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const key = JSON.stringify(value);
  const before = shown.get(key);
  if (before !== undefined) return `… as in ${before}`;
  if (Object.keys(value).length >= FIELDS_WORTH_A_REFERENCE) shown.set(key, path);
  if (Array.isArray(value)) return value.map((item) => shownOnce(item, path, shown));
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shownOnce(field, path, shown)]));
}
