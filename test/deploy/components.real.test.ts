/**
 * The components that an operator adds to an overlay, on a real API server and nats-server: a NATS user for each
 * process, and a console that answers to tokens of the cluster.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { makeKeys } from "../../deploy/nats/make-keys.ts";
import { connectNats, type NatsTransport } from "../../services/platform/bus/nats.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { makeCertificates } from "../support/certificates.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { writeKubeconfig } from "../support/kubectl.ts";
import { metricValue } from "../support/metric-value.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { freePort, type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { applyTo } from "./installed.ts";
import { type Manifests, renderWith } from "./manifests.ts";

const NAMESPACE = "vigil-system";
const COMPONENTS = ["user-per-process", "console-authentication"];
const MEMBER = "vigil-writer-0";
const OTHER = "vigil-reader-0";
const PROCESSES = [
  { role: "reader", member: OTHER },
  { role: "writer", member: MEMBER },
];
const WITHIN = { withinMs: 40_000, everyMs: 200 };
vi.setConfig({ testTimeout: 120_000 });

describeWithKube("on a real kube-apiserver", () => {
  describeWithNats("and nats-server, with both components", () => {
    const folder = mkdtempSync(join(tmpdir(), "vigil-components-"));
    const keys = join(folder, "keys");
    const { caFile, serverCert, serverKey } = makeCertificates(folder);
    let manifests: Manifests;
    let api: KubeApiserver;
    let nats: NatsServer;
    let vigil: VigilProcess;
    let port: number;
    const links: NatsTransport[] = [];

    beforeAll(async () => {
      makeKeys(keys, PROCESSES);
      const files = Object.fromEntries(
        ["keys.conf", "roles.conf"].map((name) => [name, readFileSync(join(keys, name), "utf8")]),
      );
      nats = await startNatsServer({ config: 'include "roles.conf"', files, jetstream: true });
      api = await startKubeApiserver();
      manifests = await renderWith("full", COMPONENTS);
      await applyTo(api, join(folder, "all.yaml"), manifests);
      vigil = await startWriter();
      await vigil.untilLogged("running");
    });
    afterAll(async () => {
      for (const link of links) await link.close();
      vigil?.signal("SIGKILL");
      await Promise.all([api?.stop(), nats?.stop()]);
      rmSync(folder, { recursive: true });
    });

    const kubectl = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await api.kubectl(...args);
      expect(code, stderr).toBe(0);
      return stdout.trim();
    };

    /** The writer as its StatefulSet runs it, under the account and the NATS user of its first pod. */
    async function startWriter(): Promise<VigilProcess> {
      const token = await kubectl("create", "token", "vigil-writer", `--namespace=${NAMESPACE}`);
      const kubeconfig = writeKubeconfig(join(folder, "kubeconfig"), { server: api.url, token, caFile: api.caFile });
      port = await freePort();
      const args = manifests.argsOf("vigil-writer", {
        "--nats": nats.url,
        "--nats-nkey": join(keys, `${MEMBER}.nk`),
        "--nats-history-nkey": join(keys, "history.nk"),
        "--member": MEMBER,
        "--listen": `127.0.0.1:${port}`,
        "--listen-tls-cert": serverCert,
        "--listen-tls-key": serverKey,
      });
      return new VigilProcess([...args, "--log-format=json", `--kubeconfig=${kubeconfig}`]);
    }

    async function linkAs(user: string): Promise<{ link: NatsTransport; metrics: ReadableMetrics }> {
      const metrics = createMetrics();
      const identity = { servers: [nats.url], name: user, nkeyFile: join(keys, `${user}.nk`) };
      const link = await connectNats({ ...identity, clock: realClock(), log: silentLog, metrics });
      links.push(link);
      return { link, metrics };
    }

    /** A client of the cluster: its token. */
    async function client(name: string): Promise<string> {
      await kubectl("create", "serviceaccount", name);
      return kubectl("create", "token", name);
    }

    function statusOf(path: string, token: string | null): Promise<number | undefined> {
      const headers = token === null ? {} : { authorization: `Bearer ${token}` };
      const ca = readFileSync(caFile, "utf8");
      return new Promise((resolve, reject) => {
        get(`https://127.0.0.1:${port}${path}`, { ca, headers, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).once("error", reject);
      });
    }

    test("the manifests are taken whole, and applied again they change nothing", async () => {
      const names = await kubectl("get", "statefulsets", `--namespace=${NAMESPACE}`, "--output=name");
      expect(names.split("\n").map((name) => name.split("/")[1])).toEqual(["nats", "vigil-reader", "vigil-writer"]);
      expect(await kubectl("get", "deployments", `--namespace=${NAMESPACE}`, "--output=name")).toBe("");
      const said = await applyTo(api, join(folder, "again.yaml"), manifests);
      expect(
        said
          .trim()
          .split("\n")
          .filter((line) => !line.endsWith(" unchanged")),
      ).toEqual([]);
    });

    test("the user of one process cannot publish the pulse of another", async () => {
      const [stolen, inspector] = [await linkAs(MEMBER), await linkAs("inspector")];
      const heard: string[] = [];
      const subjectOf = (member: string) => `vigil.v1.default.pulse.member.0.${member}`;
      inspector.link.subscribe("vigil.v1.default.pulse.member.>", (payload, subject) => {
        if (new TextDecoder().decode(payload) === "forged") heard.push(subject);
      });
      await inspector.link.flush();
      for (const member of [OTHER, MEMBER]) stolen.link.publish(subjectOf(member), new TextEncoder().encode("forged"));
      await stolen.link.flush();
      await until("its own pulse is heard", () => heard.length > 0, WITHIN);
      expect(heard).toEqual([subjectOf(MEMBER)]);
      expect(await metricValue(stolen.metrics, "vigil_nats_permission_violations_total")).toBe(1);
      expect(vigil.logged.filter(({ level }) => level === "error")).toEqual([]);
    });

    test("the console answers only users that the API server authenticates and RBAC allows", async () => {
      const [allowed, unbound] = [await client("prometheus"), await client("passer-by")];
      const binding = ["--clusterrole=vigil-console-reader", "--serviceaccount=default:prometheus"];
      await kubectl("create", "clusterrolebinding", "prometheus", ...binding);
      const both = ["/metrics", "/api/about"];
      expect(await Promise.all(both.map((path) => statusOf(path, allowed)))).toEqual([200, 200]);
      expect(await Promise.all(both.map((path) => statusOf(path, unbound)))).toEqual([403, 403]);
      expect(await Promise.all(both.map((path) => statusOf(path, `${allowed}x`)))).toEqual([401, 401]);
      expect(await Promise.all(both.map((path) => statusOf(path, null)))).toEqual([401, 401]);
      expect(await Promise.all(["/livez", "/healthz"].map((path) => statusOf(path, null)))).toEqual([200, 200]);
      expect(await statusOf("/readyz", null)).not.toBe(401);

      await api.kill();
      expect(await statusOf("/api/overview", allowed)).toBe(503);
      expect(await statusOf("/metrics", "a-token-not-seen-before")).toBe(503);
      expect(await statusOf("/livez", null)).toBe(200);
      const refusals = vigil.logged.filter(({ message }) => message.includes("does not answer token reviews"));
      expect(refusals.length).toBe(1);
      expect(JSON.stringify(vigil.logged)).not.toContain(allowed);
    });
  });
});
