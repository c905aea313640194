/** The roles that `vigil rbac` prints, under the RBAC authorizer of a real API server. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Kube, type ObjectRef, Urgency, type Wire } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { RawClient } from "../../contract/kube.provided.ts";
import { type KubeApiserver, startKubeApiserver } from "../../support/kube-apiserver.ts";
import { customResourcesBroken, describeWithKube } from "../../support/kube-assets.ts";
import { read, write } from "../../support/kube-probe.ts";
import { until } from "../../support/until.ts";
import { fakeHost } from "../fake-host.ts";
import { GROUP, NAMESPACE, REMEDIATING_POLICY, VERSION } from "./remediating-policy.ts";

const OTHER_GROUP = "fence-agents-remediation.medik8s.io";
const USER = "system:serviceaccount:vigil-system:vigil-controller";
/** An account without rights of its own. */
const ANOTHER = "system:serviceaccount:vigil-system:another";
const OBJECTS = "selfnoderemediations";
const TEMPLATES = "selfnoderemediationtemplates";
const AUTHORIZATION = "/apis/authorization.k8s.io/v1";
const URGENT = Urgency.healing;

describeWithKube("the roles that vigil rbac prints", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-rbac-"));
  let api: KubeApiserver;
  let admin: RawClient;

  beforeAll(async () => {
    const host = fakeHost({ "p.yaml": REMEDIATING_POLICY });
    expect(await runCommandLine(["rbac", "--file=p.yaml"], host), host.err()).toBe(0);
    api = await startKubeApiserver();
    admin = new RawClient(api.wire());
    await admin.post("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    const file = join(folder, "roles.yaml");
    writeFileSync(file, host.out());
    const { code, stderr } = await api.kubectl("apply", `--filename=${file}`);
    expect(code, stderr).toBe(0);
    await until("the API server knows the roles", () => may("list", OBJECTS));
  });
  afterAll(async () => {
    await api?.stop();
    rmSync(folder, { recursive: true });
  });

  const may = async (verb: string, resource: string, more: object = {}) => {
    const resourceAttributes = { group: GROUP, namespace: NAMESPACE, verb, resource, ...more };
    const review = { spec: { user: USER, resourceAttributes } };
    const { object } = await admin.post(`${AUTHORIZATION}/subjectaccessreviews`, review);
    return (object.status as { allowed?: boolean }).allowed === true;
  };
  /** All rights of a user in a namespace, as the server says them. */
  const rulesOf = async (user: string, namespace: string): Promise<readonly unknown[]> => {
    const client = new RawClient(asUser(api.wire(), user));
    const { object } = await client.post(`${AUTHORIZATION}/selfsubjectrulesreviews`, { spec: { namespace } });
    return (object.status as { resourceRules?: readonly unknown[] }).resourceRules ?? [];
  };

  test.each([
    ["get", TEMPLATES, { name: "reboot" }],
    ["list", OBJECTS, {}],
    ["create", OBJECTS, {}],
    ["patch", OBJECTS, { name: "n1" }],
    ["delete", OBJECTS, { name: "n1" }],
  ])("allow to %s %s", async (verb, resource, more) => {
    expect(await may(verb, resource, more)).toBe(true);
  });

  test.each([
    ["get", TEMPLATES, { name: "other" }],
    ["create", TEMPLATES, {}],
    ["update", OBJECTS, { name: "n1" }],
    ["deletecollection", OBJECTS, {}],
    ["create", OBJECTS, { namespace: "default" }],
    ["create", "fenceagentsremediations", { group: OTHER_GROUP }],
    ["delete", "pods", { group: "", name: "p" }],
  ])("refuse to %s %s with %j", async (verb, resource, more) => {
    expect(await may(verb, resource, more)).toBe(false);
  });

  test("give nothing more, here and elsewhere", async () => {
    const everybodys = await rulesOf(ANOTHER, NAMESPACE);
    expect(await rulesOf(USER, "default")).toEqual(everybodys);
    expect(await rulesOf(USER, NAMESPACE)).toEqual([
      ...everybodys,
      { apiGroups: [GROUP], resources: [TEMPLATES], resourceNames: ["reboot"], verbs: ["get"] },
      { apiGroups: [GROUP], resources: [OBJECTS], verbs: ["list", "create", "patch", "delete"] },
    ]);
  });

  // Some servers end at the first custom object: test/support/kube-assets.ts.
  if (customResourcesBroken() === null) {
    test("suffice to try, create, change and delete an object, and not for another kind", async () => {
      for (const kind of ["SelfNodeRemediation", "OtherRemediation"]) await define(admin, kind);
      const kube = userKube(api.wire());
      const mine = refOf(OBJECTS);
      const body = { apiVersion: `${GROUP}/${VERSION}`, kind: "SelfNodeRemediation", metadata: { name: "n1" } };
      const create = { verb: "create", ref: mine, urgency: URGENT, body } as const;
      await until("the kind is served", async () => (await read(kube, refOf(OBJECTS, ""))).outcome === "ok");
      expect(await write(kube, { ...create, isDryRun: true })).toMatchObject({ outcome: "ok" });
      expect(await write(kube, create)).toMatchObject({ outcome: "ok" });
      const change = { metadata: { annotations: { a: "b" } } };
      const patch = { verb: "patch", patch: "merge", ref: mine, urgency: URGENT, body: change } as const;
      expect(await write(kube, patch)).toMatchObject({ outcome: "ok" });
      expect(await write(kube, { verb: "delete", ref: mine, urgency: URGENT })).toMatchObject({ outcome: "ok" });
      const others = { ...create, ref: refOf("otherremediations"), body: { ...body, kind: "OtherRemediation" } };
      expect(await write(kube, others)).toMatchObject({ outcome: "denied", detail: expect.stringContaining("403") });
    });
  }
}, ["kubectl"]);

/** A wire whose requests are made for another user. */
function asUser(wire: Wire, user: string): Wire {
  return {
    send: (request, exchange) =>
      wire.send({ ...request, headers: { ...request.headers, "impersonate-user": user } }, exchange),
  };
}

function userKube(wire: Wire): Kube {
  const io = { clock: realClock(), random: systemRandom, log: silentLog, metrics: createMetrics() };
  return createKube({ ...io, wire: asUser(wire, USER), profile: STANDARD_PROFILE });
}

function refOf(plural: string, name = "n1"): ObjectRef {
  return { kind: "CustomResource", namespace: NAMESPACE, name, resource: { group: GROUP, version: VERSION, plural } };
}

async function define(client: RawClient, kind: string): Promise<void> {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: "object" } };
  const { status } = await client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: VERSION, served: true, storage: true, schema }],
    },
  });
  expect(status).toBe(201);
}
