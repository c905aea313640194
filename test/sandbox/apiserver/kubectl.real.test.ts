/** The same kubectl commands against the embedded API and a real kube-apiserver print the same. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { type HttpFront, listen } from "../../../services/sandbox/apiserver/http/http-front.ts";
import { type KubeApiserver, startKubeApiserver } from "../../support/kube-apiserver.ts";
import { describeWithKube, kubeProgram } from "../../support/kube-assets.ts";
import { type KubectlResult, kubectl, writeKubeconfig } from "../../support/kubectl.ts";
import { until } from "../../support/until.ts";
import { kubectlStory } from "./kubectl-story.ts";

const folder = mkdtempSync(join(tmpdir(), "kubectl-story-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Meaningless differences between two servers and between two seconds. */
const INCIDENTALS: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID"],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME"],
  [/(\w{3}, \d\d \w{3} \d{4} [\d:]+ [+-]\d{4})/g, "DATE"],
  [/(resourceVersion: |Resource Version: +)"?\d+"?/g, "$1VERSION"],
  [/\b\d+(s|m\d*s?)\b/g, "AGE"],
  [/^Warning: \S+ \w+ is deprecated .*\n/gm, ""],
  [/ +/g, " "],
];

function normal({ code, stdout, stderr }: KubectlResult): string {
  const text = `${stdout}${stderr}-> ${code}`;
  return INCIDENTALS.reduce((told, [pattern, word]) => told.replace(pattern, word), text);
}

/** What `get nodes -w` prints while a node comes, is cordoned and goes. */
async function followed(kubeconfig: string): Promise<string> {
  const env = { ...process.env, HOME: folder, KUBECONFIG: kubeconfig };
  const child = spawn(kubeProgram("kubectl"), ["get", "nodes", "-w", "--output-watch-events"], { env });
  let stdout = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  const seen = (line: RegExp): Promise<void> => until(`kubectl has printed ${line}`, () => line.test(stdout));
  try {
    const file = join(folder, "followed.json");
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name: "followed" } }));
    await kubectl(kubeconfig, ["create", "-f", file]);
    await seen(/followed/);
    await kubectl(kubeconfig, ["cordon", "followed"]);
    await seen(/SchedulingDisabled/);
    await kubectl(kubeconfig, ["delete", "node", "followed"]);
    await seen(/DELETED.*\n/);
  } finally {
    child.kill();
  }
  return normal({ code: 0, stdout, stderr: "" });
}

function comparison(): void {
  let front: HttpFront;
  let real: KubeApiserver;
  beforeAll(async () => {
    front = await listen(new ApiServer({ clock: realClock(), random: systemRandom }), { port: 0 });
    real = await startKubeApiserver();
  });
  afterAll(async () => {
    await front.close();
    await real.stop();
  });
  const embeddedConfig = (): string => writeKubeconfig(join(folder, "embedded"), { server: front.url, token: "" });

  describe("prints the same on the embedded API as on the real one", () => {
    const story = kubectlStory(folder).map((command, index) => [index, command] as const);
    test.each(story)("%i: %s", async (_index, command) => {
      const args = command.split(" ");
      const [ours, theirs] = await Promise.all([kubectl(embeddedConfig(), args), real.kubectl(...args)]);
      expect(normal(ours)).toBe(normal(theirs));
    });
  });

  test("follows nodes with -w on both alike", async () => {
    const [ours, theirs] = await Promise.all([followed(embeddedConfig()), followed(real.kubeconfig)]);
    expect(ours).toBe(theirs);
  });
}

describeWithKube("kubectl", comparison, ["kubectl"]);
