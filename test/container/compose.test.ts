/** compose.yaml: what its profiles hold, and profile `one` brought up. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { composeProgram, describeWithDocker, IMAGES } from "../support/docker.ts";
import { freePort } from "../support/nats-server.ts";
import { until } from "../support/until.ts";

const ROOT = join(import.meta.dirname, "../..");

interface ComposeService {
  readonly profiles: readonly string[];
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
}

const { services } = parse(readFileSync(join(ROOT, "compose.yaml"), "utf8"), { merge: true }) as {
  services: Readonly<Record<string, ComposeService>>;
};
const inProfile = (profile: string): string[] =>
  Object.keys(services).filter((name) => services[name]?.profiles.includes(profile));

describe("compose.yaml", () => {
  test("has one process in profile one, one for each service and two for node in split, and a watch beside them", () => {
    expect(inProfile("one")).toEqual(["nats", "cluster", "nodes", "vigil"]);
    const split = [...SERVICE_NAMES.filter((name) => name !== "node"), "node-1", "node-2"];
    expect(inProfile("split").toSorted()).toEqual(["nats", "cluster", "nodes", ...split].toSorted());
    expect(inProfile("watch")).toEqual(["prometheus", "grafana"]);
  });

  test("runs in each process of split the service that it is named after", () => {
    for (const name of inProfile("split").filter((one) => !["nats", "cluster", "nodes"].includes(one))) {
      expect(services[name]?.command).toContain(`--services=${name.replace(/-\d$/, "")}`);
    }
  });

  test("opens its ports on this machine alone, and the dashboard's in either way to run", () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports.filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
    for (const name of ["vigil", "ledger"]) expect(services[name]?.ports?.[0]).toMatch(/:8080$/);
  });

  test("mounts what is there", () => {
    const mounted = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.map((volume) => volume.split(":")[0] ?? ""),
    );
    expect(mounted.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

const composeWords = composeProgram();
const project = `vigil-test-${process.pid}`;

describeWithDocker(
  "profile one",
  () => {
    let port = 0;
    const compose = (...args: string[]) => {
      const env = { ...process.env, NATS_IMAGE: IMAGES.nats, VIGIL_IMAGE: IMAGES.vigil, VIGIL_PORT: String(port) };
      const [program = "", ...words] = composeWords ?? [];
      const argv = [...words, "--project-name", project, "--profile", "one", ...args];
      const { status, stdout, stderr } = spawnSync(program, argv, { cwd: ROOT, env, encoding: "utf8" });
      expect(status, `${stdout}${stderr}`).toBe(0);
      return stdout;
    };
    afterAll(() => compose("down", "--volumes"));

    test("comes up, sees its sixty nodes and shows the dashboard", async () => {
      port = await freePort();
      compose("up", "--detach", "--no-build");
      const url = `http://127.0.0.1:${port}`;
      const answers = async (path: string) => (await fetch(`${url}${path}`).catch(() => null))?.ok === true;
      await until("Vigil is ready", () => answers("/readyz"), { withinMs: 60_000, everyMs: 250 });
      const ready = async () =>
        ((await (await fetch(`${url}/api/overview`)).json()) as { nodes: { ready: number } }).nodes.ready;
      await until("its nodes are ready", async () => (await ready()) === 60, { withinMs: 30_000, everyMs: 250 });
      expect(await (await fetch(url)).text()).toContain("<title>");
    });
  },
  composeWords === null ? "no compose: apt-get install docker-compose" : null,
);
