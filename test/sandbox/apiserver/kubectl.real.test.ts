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
  return INCIDENTALS.reduce((replaced, [pattern, word]) => replaced.replace(pattern, word), text);
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

const DEFINITION = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "limits.story.test" },
  spec: {
    group: "story.test",
    scope: "Cluster",
    names: { plural: "limits", kind: "Limit", shortNames: ["lim"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        additionalPrinterColumns: [{ name: "Nodes", type: "integer", jsonPath: ".spec.nodes" }],
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { nodes: { type: "integer", maximum: 10, description: "How many nodes." } },
              },
            },
          },
        },
      },
    ],
  },
};

function customResources(): void {
  test("applies a definition and its objects, explains them, and names a mistake", async () => {
    const api = new ApiServer({ clock: realClock(), random: systemRandom });
    const front = await listen(api, { port: 0 });
    const config = writeKubeconfig(join(folder, "custom"), { server: front.url, token: "" });
    const file = (name: string, object: unknown): string => {
      writeFileSync(join(folder, name), JSON.stringify(object));
      return join(folder, name);
    };
    const limit = (spec: unknown): unknown => ({
      apiVersion: "story.test/v1",
      kind: "Limit",
      metadata: { name: "gpu" },
      spec,
    });
    const run = async (...args: string[]): Promise<string> => {
      const { stdout, stderr } = await kubectl(config, args);
      return stdout + stderr;
    };
    const apply = (name: string, object: unknown): Promise<string> => run("apply", "-f", file(name, object));
    expect(await apply("crd.json", DEFINITION)).toContain("limits.story.test created");
    expect(await apply("limit.json", limit({ nodes: 3 }))).toBe("limit.story.test/gpu created\n");
    expect(await apply("limit.json", limit({ nodes: 4 }))).toBe("limit.story.test/gpu configured\n");
    expect(await run("get", "limits")).toBe("NAME   NODES\ngpu    4\n");
    expect(await run("explain", "limit.spec.nodes")).toContain("How many nodes.");
    expect(await run("explain", "limit")).toContain("metadata\t<Object>");
    const tooMany = "spec.nodes in body should be less than or equal to 10";
    expect(await apply("many.json", limit({ nodes: 11 }))).toContain(tooMany);
    expect(await apply("odd.json", limit({ nods: 1 }))).toContain('unknown field "spec.nods"');
    expect(await run("delete", "crd", "limits.story.test")).toContain('"limits.story.test" deleted');
    await front.close();
  });
}

describeWithKube("kubectl", comparison, ["kubectl"]);
describeWithKube("kubectl with custom resources", customResources, ["kubectl"]);
