/** The commands of the pages that ask Vigil, one after the other as they stand, on the playground's cluster. */
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { playgroundVerb } from "../../services/cli/verbs/playground.ts";
import { fakeHost } from "../cli/fake-host.ts";
import { until } from "../support/until.ts";
import { commandLines, runOf } from "./command-lines.ts";

const ROOT = join(import.meta.dirname, "../..");
const SELF = "test/docs-site/commands.real.test.ts";
/** The names of the pages, and those of the playground. */
const NAMES = [
  ["npm run -s vigil --", "vigil"],
  ["node NODE", "node node-a-07"],
  ["worker-7", "node-a-07"],
  ["worker-8", "node-a-08"],
  ["eu-west-1b", "zone-b"],
  ["shop/cart-0", "default/agent-node-a-07"],
  ["cart-0", "agent-node-a-07"],
] as const;
const POLICY = /```yaml\n(apiVersion[^`]*kind: NodePolicy\n[^`]*)```/;
const LINES = commandLines()
  .filter(({ line }) => runOf(line)?.test === SELF)
  // A file is written before another line reads it.
  .toSorted((a, b) => Number(b.line.includes("--print-config")) - Number(a.line.includes("--print-config")));

describe("the commands of the pages", () => {
  const folder = mkdtempSync(join(tmpdir(), "commands-"));
  const host = fakeHost();
  let ended: Promise<number>;
  let server = "";

  beforeAll(async () => {
    const files = ["--write-kubeconfig=play.kubeconfig", `--socket=${join(folder, "play.sock")}`];
    ended = playgroundVerb.start(["--serve", "--pause=0s", "--listen=127.0.0.1:0", ...files], host);
    await until("the playground runs", () => host.out().includes("Ask why:"));
    server = /VIGIL_SERVER=(\S+)/.exec(host.out())?.[1] ?? "";
    const areKnown = async () => /"total":60\b/.test(await (await fetch(`${server}/api/nodes?limit=1`)).text());
    await until("every node is known", areKnown);
    const kubeconfig = host.files.get("play.kubeconfig") ?? "";
    writeFileSync(join(folder, "kubeconfig"), kubeconfig);
    writeFileSync(join(folder, "vigil"), `#!/bin/sh\nexec '${process.execPath}' '${ROOT}/services/vigil.js' "$@"\n`);
    chmodSync(join(folder, "vigil"), 0o755);
    const api = `${parse(kubeconfig).clusters[0].cluster.server}/apis/vigil.io/v1alpha1/nodepolicies`;
    for (const page of ["pool-policy", "maintenance"]) {
      const [, policy = ""] = POLICY.exec(readFileSync(join(ROOT, `docs/how-to/${page}.md`), "utf8")) ?? [];
      const headers = { "Content-Type": "application/json" };
      const made = await fetch(api, { method: "POST", headers, body: JSON.stringify(parse(policy)) });
      expect(made.status).toBe(201);
    }
  });
  afterAll(async () => {
    host.stop();
    await ended;
    rmSync(folder, { recursive: true });
  });

  test.each(LINES)("$page: $line", async ({ line }) => {
    const named = NAMES.reduce((text, [from, to]) => text.replaceAll(from, to), line);
    const typed = named.replaceAll("http://127.0.0.1:8080", server);
    const PATH = [folder, dirname(process.execPath), process.env.PATH].join(delimiter);
    const env = { PATH, VIGIL_SERVER: server, KUBECONFIG: join(folder, "kubeconfig"), HOME: folder };
    const { stdout } = await promisify(execFile)("bash", ["-c", typed], { cwd: folder, env });
    if (!line.includes(">")) expect(stdout).not.toBe("");
  });
});
