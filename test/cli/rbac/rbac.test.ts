/** The roles that `vigil rbac` prints. */
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import { fakeHost } from "../fake-host.ts";
import { REMEDIATING_POLICY } from "./remediating-policy.ts";

const POLICIES = `${REMEDIATING_POLICY}---
apiVersion: vigil.io/v1alpha1
kind: NodePolicy
metadata: { name: other }
spec: { selector: {} }
`;

async function print(file: string, ...flags: string[]) {
  const host = fakeHost({ "p.yaml": file });
  const code = await runCommandLine(["rbac", "--file=p.yaml", ...flags], host);
  return { code, out: host.out(), err: host.err() };
}

test("are for the kinds that policies name, in their namespaces", async () => {
  const { code, out } = await print(POLICIES);
  expect(code).toBe(0);
  const group = "self-node-remediation.medik8s.io";
  const roles = parseAllDocuments(out);
  expect("empty" in roles ? [] : roles.map((role) => role.toJS())).toMatchObject([
    {
      kind: "Role",
      metadata: { namespace: "medik8s" },
      rules: [
        {
          apiGroups: [group],
          resources: ["selfnoderemediationtemplates"],
          resourceNames: ["reboot"],
          verbs: ["get"],
        },
        { apiGroups: [group], resources: ["selfnoderemediations"], verbs: ["list", "create", "patch", "delete"] },
      ],
    },
    {
      kind: "RoleBinding",
      metadata: { namespace: "medik8s" },
      subjects: [{ kind: "ServiceAccount", namespace: "vigil-system", name: "vigil-controller" }],
    },
  ]);
});

test("are for policies of a configuration file too, and another account", async () => {
  const [, spec = ""] = /spec:\n(.*?)---/s.exec(POLICIES) ?? [];
  const file = `policies:\n  - name: gpu\n    spec:\n${spec.replaceAll(/^/gm, "    ")}`;
  const { out } = await print(file.trimEnd(), "--service-account=ops/vigil-writer");
  expect(out).toContain("name: vigil-writer");
  expect(out).toContain("namespace: ops");
});

test.each([
  ["policies: []", "vigil: --file=p.yaml: no policy of it has remediations\n"],
  [
    POLICIES.replace("Template\n", "\n"),
    'vigil: --file=p.yaml: NodePolicy gpu: spec.remediations[0].template.kind: "SelfNodeRemediation": write the kind of a template, such as SelfNodeRemediationTemplate\n',
  ],
])("are not printed for a file without right remediations", async (file, err) => {
  expect(await print(file)).toEqual({ code: 1, out: "", err });
});

const templateOf = (apiVersion: string): string =>
  POLICIES.replace(/apiVersion: self-\S+/, `apiVersion: ${apiVersion}`);

test.each(["v1", "apps/v1", "rbac.authorization.k8s.io/v1", "metrics.k8s.io/v1beta1"])(
  "are not printed for %s, a group of Kubernetes",
  async (apiVersion) => {
    const { code, out, err } = await print(templateOf(apiVersion));
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("NodePolicy gpu: spec.remediations[0].template.apiVersion: ");
  },
);

test("are printed for a custom resource of a project of Kubernetes", async () => {
  const { code, out } = await print(templateOf("infrastructure.cluster.x-k8s.io/v1beta1"));
  expect(code).toBe(0);
  expect(out).toContain("infrastructure.cluster.x-k8s.io");
});
