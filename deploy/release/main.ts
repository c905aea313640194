/** The steps of the release workflow that decide something. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publishedValues, releaseNotes, releaseProblems } from "./release.ts";

const USAGE = `node deploy/release/main.ts check v1.2.3 OWNER/NAME       fails unless this repository can release it
node deploy/release/main.ts notes v1.2.3                  prints what CHANGELOG.md says about it
node deploy/release/main.ts chart IMAGE sha256:DIGEST     names what was published in the chart`;
const ROOT = join(import.meta.dirname, "../..");
const VALUES = join(ROOT, "deploy/helm/vigil/values.yaml");
const [step, first = "", second = ""] = process.argv.slice(2);
const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
const { version, repository } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

if (step === "check") {
  const problems = releaseProblems({ tag: first, home: second, version, repository: repository?.url, changelog });
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} else if (step === "notes") {
  process.stdout.write(`${releaseNotes(first.replace(/^v/, ""), changelog) ?? ""}\n`);
} else if (step === "chart" && /^sha256:[\da-f]{64}$/.test(second)) {
  const published = { image: first, digest: second, version, repository: repository?.url ?? "" };
  writeFileSync(VALUES, publishedValues(readFileSync(VALUES, "utf8"), published));
} else {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
}
