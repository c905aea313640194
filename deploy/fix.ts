/** Writes the files that follow from others: parts of the docs, the lock file, NATS' roles, the files of the chart. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { completedLock } from "../test/architecture/lockfile.ts";
import { GENERATED_PAGES } from "../test/docs-site/generated-pages.ts";
import { withExplainSentences } from "../test/ledger/explain/explain-page.ts";
import { withMachineDrawings } from "../test/machine-drawings.ts";
import { asyncApiText } from "../test/protocols/asyncapi.ts";
import { withMessageTable } from "../test/protocols/message-table.ts";
import { nodePolicyDefinitionText } from "./crd/node-policy-crd.ts";
import { CHART_FILES } from "./helm/chart-files.ts";
import { withSettingNames, withValuesTable } from "./helm/values-table.ts";
import { rolesConfig } from "./nats/roles.ts";
import { withVersion } from "./release/release.ts";

const ROOT = join(import.meta.dirname, "..");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

rewrite("protocols/README.md", withMessageTable);
rewrite("docs/explain.md", withExplainSentences);
rewrite("docs/machines.md", withMachineDrawings);
rewrite("deploy/helm/vigil/values.schema.json", withSettingNames);
rewrite("deploy/helm/vigil/README.md", withValuesTable);
rewrite("deploy/helm/vigil/Chart.yaml", (chart) => withVersion(chart, version));
rewrite("package-lock.json", (lock) => completedLock(lock, publishedIntegrity));
rewrite("deploy/nats/roles.conf", () => rolesConfig());
rewrite("deploy/crd/nodepolicies.yaml", () => nodePolicyDefinitionText());
for (const [name, source] of Object.entries(CHART_FILES)) {
  rewrite(`deploy/helm/vigil/files/${name}`, () => readFileSync(join(ROOT, source), "utf8"));
}
rewrite("docs/asyncapi.yaml", () => asyncApiText(version));
for (const [path, pageText] of Object.entries(GENERATED_PAGES)) {
  const text = await pageText();
  rewrite(path, () => text);
}

function rewrite(path: string, mend: (text: string) => string): void {
  const file = join(ROOT, path);
  const text = readFileSync(file, "utf8");
  const mended = mend(text);
  if (mended === text) return;
  writeFileSync(file, mended);
  process.stdout.write(`wrote ${path}\n`);
}

function publishedIntegrity(name: string, packageVersion: string): string {
  return execFileSync("npm", ["view", `${name}@${packageVersion}`, "dist.integrity"], { encoding: "utf8" }).trim();
}
