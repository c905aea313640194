/** The command lines of the pages, and for each where it is run, or why no test can run it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "../architecture/source.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Pages whose commands are a record, or which code writes. */
const NOT_TYPED =
  /^(?:CHANGELOG|\.changeset\/.*|docs\/(?:decisions|reference)\/.*|CONTRIBUTING|protocols\/.*)\.?(?:md)?$/;
const BLOCK = /^ *```(\w*)\n([\s\S]*?)^ *``` *$/gm;
const SHELL: readonly string[] = ["", "sh"];
const PROGRAMS = (
  "aws az check cosign curl docker export gcloud helm HOSTNAME=nats jq journalctl kubectl kustomize nats npm npx sed " +
  "source vigil"
).split(" ");
const ASSIGNMENT = /^[A-Z_]+=\S/i;

/** A command line of a page, joined where it goes on behind a backslash, without its comment. */
export interface CommandLine {
  readonly page: string;
  readonly line: string;
}

/** Where a line is run, with other names where those of the page are examples, or why it is not. */
interface Run {
  readonly test?: string;
  readonly cannot?: string;
}

/** Every command line that a reader of the pages types. */
export function commandLines(): CommandLine[] {
  const pages = filesBelow(ROOT).filter((path) => path.endsWith(".md") && !NOT_TYPED.test(path));
  return pages.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), "utf8");
    const blocks = [...text.matchAll(BLOCK)].filter(([, language = ""]) => SHELL.includes(language));
    const lines = blocks.flatMap(([, , code = ""]) => code.replaceAll(/\\\n\s*/g, "").split("\n"));
    const typed = lines.filter((line) => PROGRAMS.includes(line.split(" ", 1)[0] ?? "") || ASSIGNMENT.test(line));
    return typed.map((line) => ({ page, line: line.replace(/ {2,}(?:#.*|[^ ].*)$/, "").trimEnd() }));
  });
}

/** The lines of `vigil` that the playground answers. */
const ASKS = /^(?:vigil|npm run -s vigil --) (?:compare|explain|freeze|get|preview|thaw|version)\b/;
/** The page that a journey types. */
const JOURNEY = /^export |hollow (?:stop|resume)/;
/** What runs which lines; the first that matches counts. */
const RUNS: readonly (readonly [RegExp, Run])[] = [
  [/--nats[ =]|NATS_NKEY|^vigil watch/, { test: "test/cli/listen/listen-page.real.test.ts" }],
  [/^nats |^jq /, { test: "test/cli/listen/listen-page.real.test.ts" }],
  [/--server=https:|create token prometheus|vigil-console/, { test: "test/console/delegated-access.real.test.ts" }],
  [/^vigil get .*--watch/, { test: "test/cli/get" }],
  [/^vigil get fleet --server/, { test: "test/cli/run.real.test.ts" }],
  [ASKS, { test: "test/docs-site/commands.real.test.ts" }],
  [/^vigil run .*--print-config/, { test: "test/docs-site/commands.real.test.ts" }],
  [/^(?:vigil|npm run -s vigil --) run /, { test: "test/cli/run.real.test.ts" }],
  [/^vigil rescue/, { test: "test/deploy/rescue.real.test.ts" }],
  [/^vigil rbac/, { test: "test/cli/rbac" }],
  [JOURNEY, { test: "test/journey/stranger.real.test.ts" }],
  [/^npm ci/, { test: "test/journey/stranger.real.test.ts" }],
  [/^npm (?:pack|install)|^kubectl vigil version/, { test: "test/deploy/npm-package.real.test.ts" }],
  [/^source /, { test: "test/cli/completion" }],
  [/vitest run|run -s upstream/, { test: "test/upstream" }],
  [/^npm run bench/, { test: "test/bench" }],
  [/make-keys|^sed |^HOSTNAME|secret generic|create namespace/, { test: "test/deploy/nats-processes.real.test.ts" }],
  [/^helm /, { test: "test/deploy/chart-install.real.test.ts" }],
  [/vigil-hollow|vigil.io\/hollow|deploy\/hollow|^kustomize/, { test: "test/deploy/hollow.real.test.ts" }],
  [/kubectl (?:apply|delete) -k|kubectl kustomize|overlays/, { test: "test/deploy/manifests.real.test.ts" }],
  [/^kubectl apply -f|nodepolicies/, { test: "test/journey/policies.real.test.ts" }],
  [/^kubectl patch configmap vigil-freeze/, { cannot: "needs the instants of an outage" }],
  [/^docker compose/, { test: "test/container/compose.real.test.ts" }],
  [/docker build -t/, { cannot: "pushes to a registry; test/container/images.ts builds the same file" }],
  [/^docker buildx|^cosign|^npm audit/, { cannot: "needs a published release, or a registry to push to" }],
  [/^aws|^az|^gcloud|^REGISTRY=/, { cannot: "needs an account of the provider" }],
  [/^curl/, { cannot: "needs the port-forward before it; test/console/readiness.test.ts asks for the same path" }],
  [/port-forward|exec deploy| logs | rollout |get lease|get events|get node /, { cannot: "needs pods that run" }],
  [/^(?:NODE|POD|TOKEN|SERVER)=|config view|^check /, { cannot: "needs the cluster of a provider" }],
  [/^journalctl/, { cannot: "needs a server of k3s" }],
];

/** What is known of a line; null where that is not known. */
export function runOf(line: string): Run | null {
  return RUNS.find(([pattern]) => pattern.test(line))?.[1] ?? null;
}

/** The patterns that no line needs. */
export function unusedRuns(lines: readonly CommandLine[]): string[] {
  const used = new Set(lines.map(({ line }) => runOf(line)));
  return RUNS.filter(([, run]) => !used.has(run)).map(([pattern]) => pattern.source);
}
