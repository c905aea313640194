/** `vigil rbac`: prints the rights that the remediations of node policies need. */
import { parseAllDocuments } from "yaml";
import { checkSpec, nodePolicyOf } from "../../domain/node-policy.parse.ts";
import { textSetting } from "../../platform/config/setting-builders.ts";
import { ConfigProblem } from "../../platform/config/value.ts";
import { recordOf, textOf } from "../../structures/json.ts";
import { yamlText } from "../output/yaml.ts";
import { hasBuiltInGroup, remediationRoles, type ServiceAccount } from "../rbac/remediation-rules.policy.ts";
import { defineVerb, ExitCode, Failure, readNamedFile, type Verb } from "../verb.ts";

const SETTINGS = {
  file: textSetting(
    "file",
    "policies.yaml",
    "A file with NodePolicy objects, or with policies: as vigil run --config takes it; required.",
  ),
  serviceAccount: textSetting(
    "service-account",
    "vigil-system/vigil-writer",
    "The service account of the process that runs the policy service, as NAMESPACE/NAME.",
    "vigil-system/vigil-controller",
  ),
} as const;

/** The verb that prints roles. */
export const rbacVerb: Verb = defineVerb({
  name: "rbac",
  summary: "print the roles that the remediations of node policies need, for the kinds they name and no other",
  settings: SETTINGS,
  examples: [
    {
      command: "vigil rbac --file=policies.yaml | kubectl apply -f -",
      does: "lets Vigil make and delete these objects, in the namespaces of the templates",
    },
  ],
  run: (values, words, host) => {
    const [extra] = words;
    if (extra !== undefined) throw new ConfigProblem(`rbac ${extra}: unexpected argument`);
    if (values.file === "") throw new ConfigProblem("rbac: name a file, as in --file=policies.yaml");
    const specs = specsIn(readNamedFile(host, "file", values.file), values.file);
    const roles = remediationRoles(specs, accountOf(values.serviceAccount));
    if (roles.length === 0) throw new Failure(`--file=${values.file}: no policy of it has remediations`);
    host.print(roles.map((role) => yamlText(role)).join("---\n"));
    return Promise.resolve(ExitCode.ok);
  },
});

function accountOf(text: string): ServiceAccount {
  const [namespace = "", name = "", ...others] = text.split("/");
  if (namespace === "" || name === "" || others.length > 0) {
    throw new ConfigProblem(`--service-account=${text}: write NAMESPACE/NAME`);
  }
  return { namespace, name };
}

/** The policies of a file. Throws a Failure for one that is wrong. */
function specsIn(text: string, file: string): ReturnType<typeof nodePolicyOf>[] {
  const documents = parseAllDocuments(text);
  return ("empty" in documents ? [] : documents).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new Failure(`--file=${file}: ${error.message.split("\n")[0]}`);
    const object = recordOf(document.toJS());
    const written = Array.isArray(object.policies) ? object.policies : object.kind === "NodePolicy" ? [object] : [];
    return written.map((raw) => {
      const { name, metadata, spec } = recordOf(raw);
      const named = textOf(name) ?? textOf(recordOf(metadata).name) ?? "";
      const checked = checkSpec(spec);
      const [problem] = checked.problems;
      if (checked.spec === null || problem !== undefined) {
        throw new Failure(`--file=${file}: NodePolicy ${named}: ${problem}`);
      }
      const policy = nodePolicyOf(named, checked.spec);
      refuseBuiltInGroups(file, policy);
      return policy;
    });
  });
}

/** A policy's author must not get Vigil rights on pods or roles by a template that has their name. */
function refuseBuiltInGroups(file: string, { name, remediations }: ReturnType<typeof nodePolicyOf>): void {
  for (const [index, { template }] of remediations.entries()) {
    if (!hasBuiltInGroup(template)) continue;
    throw new Failure(
      `--file=${file}: NodePolicy ${name}: spec.remediations[${index}].template.apiVersion: ${template.apiVersion} is a ` +
        "group of Kubernetes itself, for which no rights are printed; name a template of a custom resource",
    );
  }
}
