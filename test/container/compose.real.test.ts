/**
 * compose.yaml: the content of its profiles, and a start of each; the watch profile only as far as images are there.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { describeWithCompose } from "../support/docker.ts";
import { until } from "../support/until.ts";
import { ComposeProject } from "./compose.ts";

const ROOT = join(import.meta.dirname, "../..");
const WITHIN = { withinMs: 120_000, everyMs: 250 };
// Longer than everything that a test waits for one after the other.
vi.setConfig({ testTimeout: 300_000 });
/** Panels that are empty until something fails, and those of node policies, which this cluster does not have. */
const EMPTY_IN_CALM = [
  "Messages dropped",
  "Readers refused",
  "Held back",
  "Breakers open",
  "Frozen",
  "Held by the ceiling",
];

interface ComposeService {
  readonly profiles: readonly string[];
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

interface Dashboard {
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly query: string }[];
  };
  readonly panels: readonly {
    readonly title: string;
    readonly datasource?: { readonly type: string; readonly uid: string };
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const dashboard = JSON.parse(read("deploy/grafana/vigil.json")) as Dashboard;
const { services } = parse(read("compose.yaml"), { merge: true }) as {
  services: Readonly<Record<string, ComposeService>>;
};
const inProfile = (profile: string): string[] =>
  Object.keys(services).filter((name) => services[name]?.profiles.includes(profile));

describe("compose.yaml", () => {
  test("has profiles for one process, one per service, and a watch", () => {
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

  test("opens ports on this machine only; each profile has a dashboard", () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports.filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
    for (const name of ["vigil", "ledger"]) expect(services[name]?.ports?.[0]).toMatch(/:8080$/);
  });

  test("mounts only existing files", () => {
    const mounted = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.map((volume) => volume.split(":")[0] ?? ""),
    );
    expect(mounted.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test("gives Grafana a Prometheus and a dashboard as home page", () => {
    const { volumes = [], environment = {} } = services.grafana ?? {};
    const inside = new Map(volumes.map((volume) => volume.split(":").slice(0, 2).toReversed() as [string, string]));
    const folder = "deploy/compose/grafana";
    expect(inside.get("/etc/grafana/provisioning")).toBe(`./${folder}`);
    const { datasources } = parse(read(`${folder}/datasources/prometheus.yaml`));
    expect(datasources).toMatchObject([{ type: "prometheus", url: "http://prometheus:9090", isDefault: true }]);
    const { providers } = parse(read(`${folder}/dashboards/vigil.yaml`));
    expect(inside.get(providers[0].options.path)).toBe("./deploy/grafana");
    expect(environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH).toBe(`${providers[0].options.path}/vigil.json`);
    const [{ name, type, query } = { name: "", type: "", query: "" }] = dashboard.templating.list;
    expect([type, query]).toEqual(["datasource", "prometheus"]);
    const asked = dashboard.panels.flatMap(({ datasource }) => (datasource === undefined ? [] : [datasource]));
    expect(new Set(asked.map(({ uid }) => uid))).toEqual(new Set([`\${${name}}`]));
  });
});

/** Waits until the sixty nodes are observed and ready. */
async function seesItsNodes(project: ComposeProject): Promise<void> {
  await until("Vigil is ready", () => project.answers("VIGIL_PORT", "/readyz"), WITHIN);
  const ready = async () =>
    ((await project.json("VIGIL_PORT", "/api/overview")) as { nodes: { ready: number } }).nodes.ready;
  await until("its nodes are ready", async () => (await ready()) === 60, WITHIN);
}

describeWithCompose("profile one", () => {
  let project: ComposeProject;
  beforeAll(async () => {
    project = await ComposeProject.open("one");
  });
  afterAll(() => project.down());

  test("starts, observes its sixty nodes and serves the dashboard", async () => {
    project.run("up", "--detach", "--no-build");
    await seesItsNodes(project);
    expect(await (await project.get("VIGIL_PORT", "/")).text()).toContain("<title>");
  });

  const ask = async <A>(path: string) =>
    ((await project.json("PROMETHEUS_PORT", `/api/v1/${path}`)) as { data: A }).data;

  test("with Prometheus every alert rule is evaluated and every panel has data", async () => {
    project.run("--profile=watch", "up", "--detach", "--no-build", "--no-deps", "prometheus");
    await until("Prometheus is ready", () => project.answers("PROMETHEUS_PORT", "/-/ready"), WITHIN);
    const rules = async () =>
      (await ask<{ groups: { rules: { health: string }[] }[] }>("rules")).groups.flatMap((group) => group.rules);
    await until("every rule is weighed", async () => (await rules()).every(({ health }) => health === "ok"), WITHIN);
    expect((await rules()).length).toBeGreaterThan(10);
    const shown = dashboard.panels.filter(({ title }) => !EMPTY_IN_CALM.includes(title));
    for (const expr of shown.flatMap(({ targets = [] }) => targets.map((target) => target.expr))) {
      const query = `query?query=${encodeURIComponent(expr)}`;
      const isFilled = async () => (await ask<{ result: unknown[] }>(query)).result.length > 0;
      await until(`there is data for ${expr}`, isFilled, WITHIN);
    }
  });
});

describeWithCompose("profile split", () => {
  let project: ComposeProject;
  beforeAll(async () => {
    project = await ComposeProject.open("split");
    project.run("up", "--detach", "--no-build");
  });
  afterAll(() => project.down());

  const controllers = inProfile("split").filter((name) => services[name]?.command?.[0] === "run");

  test("starts as one fleet with an owner for every shard, and observes its sixty nodes", async () => {
    await seesItsNodes(project);
    const get = ["node", "services/vigil.js", "get", "fleet", "--nats=nats://nats:4222", "--output=json"];
    let members: { services: string[]; shards: number }[] = [];
    const wanted = JSON.stringify([...SERVICE_NAMES, "node"].toSorted());
    await until(
      () => `each process owns shards of its service: ${JSON.stringify(members)}`,
      () => {
        members = JSON.parse(project.run("exec", "-T", "ledger", ...get)).items;
        return JSON.stringify(members.map((member) => member.services.join()).toSorted()) === wanted;
      },
      WITHIN,
    );
    expect(members.every(({ shards }) => shards > 0)).toBe(true);
    expect(members.reduce((sum, { shards }) => sum + shards, 0)).toBe(SERVICE_NAMES.length * SHARD_COUNT);
  });

  test("ends each of its processes with 0, within ten seconds", () => {
    project.run("stop", "--timeout=10", ...controllers);
    expect(controllers.map((name) => [name, project.exitCode(name)])).toEqual(controllers.map((name) => [name, 0]));
  });
});
