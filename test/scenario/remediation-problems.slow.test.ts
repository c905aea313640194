/**
 * What is wrong with the remediations of a NodePolicy is a condition of it, and nothing is half done meanwhile. They
 * need the rights that `vigil rbac` prints. All services on virtual time.
 */
import { describe, expect, test } from "vitest";
import { Urgency } from "../../protocols/ports.ts";
import { remediationRoles } from "../../services/cli/rbac/remediation-rules.policy.ts";
import { nodePolicyOf } from "../../services/domain/node-policy.parse.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { UNREACHABLE } from "../support/eviction-world.ts";
import { GROUP, RemediationWorld, type Remediators, stepOf } from "./remediations.fixture.ts";

const S = 1000;
const MINUTE = 60 * S;
/** A refused write is tried again after a minute, and a status follows within two rounds. */
const REPAIRED_MS = 80 * S;
const REBOOT = { remediations: [stepOf("Reboot")] };
const WELL = "True TemplatesFound: every template was read";

const worldWith = (remediators: Remediators = {}, fields: ConstructorParameters<typeof RemediationWorld>[0] = REBOOT) =>
  new RemediationWorld(fields, { isObject: true, ...remediators });

/** Denies requests that create, read or change objects of a resource, until the result is called. */
function forbid(world: RemediationWorld, verb: Call["verb"], plural: string) {
  return world.api.faults.add({
    fault: { kind: "status", code: 403, message: "forbidden" },
    when: (call) => call.verb === verb && call.resource.plural === plural,
  });
}

interface Problem {
  readonly remediators?: Remediators;
  /** Makes the fault, and returns its repair. */
  readonly begin: (world: RemediationWorld) => () => void;
  readonly says: string;
}

const PROBLEMS: Readonly<Record<string, Problem>> = {
  "a kind that is not installed": {
    remediators: { kinds: [] },
    begin: (world) => () => {
      world.define("Reboot");
      world.addTemplate("Reboot");
    },
    says: `False KindNotInstalled: the API server does not serve reboots of ${GROUP}/v1alpha1`,
  },
  "a template that does not exist": {
    remediators: { kinds: [] },
    begin: (world) => {
      world.define("Reboot");
      return () => world.addTemplate("Reboot");
    },
    says: "False TemplateNotFound: RebootTemplate medik8s/reboot does not exist",
  },
  "a template without a spec for its objects": {
    remediators: { kinds: [] },
    begin: (world) => {
      world.define("Reboot");
      world.addTemplate("Reboot", {});
      return () => {
        const ref = world.ref("RebootTemplate", "reboot");
        world.write({ verb: "delete", ref, urgency: Urgency.healing });
        world.addTemplate("Reboot");
      };
    },
    says: "False TemplateInvalid: RebootTemplate medik8s/reboot has no spec.template.spec",
  },
  "no right to read its template": {
    begin: (world) => forbid(world, "get", "reboottemplates"),
    says: `False Forbidden: Vigil may not get reboottemplates.${GROUP} in medik8s: vigil rbac prints the rules`,
  },
  "no right to list its objects": {
    begin: (world) => forbid(world, "list", "reboots"),
    says: `False Forbidden: Vigil may not list reboots.${GROUP} in medik8s: vigil rbac prints the rules`,
  },
  "no right to create its objects": {
    begin: (world) => forbid(world, "create", "reboots"),
    says: `False Forbidden: the API server refused to create reboots.${GROUP} in medik8s: 403`,
  },
};

describe("a condition of the policy names", () => {
  test.each(Object.entries(PROBLEMS))("%s, and goes with it", (_what, { remediators, begin, says }) => {
    const world = worldWith(remediators);
    const repair = begin(world);
    world.silence(["a-0"]);
    world.advance(3 * MINUTE);
    expect(world.condition()).toContain(says);
    expect(world.says()).toContain(says.slice(says.indexOf(": ") + 2));
    expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
    repair();
    expect(world.objects("Reboot")).toEqual([]);
    world.advance(REPAIRED_MS);
    expect(world.condition()).toBe(WELL);
    expect(world.objects("Reboot")).toEqual(["a-0"]);
  });

  test("a controller that never answers", () => {
    const world = worldWith({}, {});
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    expect(world.condition()).toBe(WELL);
    expect(world.says()).toMatch(
      /Reboot has run since \S+, until \S+ at most, but its controller has reported nothing/,
    );
    world.report("Reboot", "Processing", "True");
    world.advance(10 * S);
    expect(world.says()).not.toContain("has reported nothing");
    world.advance(12 * MINUTE);
    expect(world.condition()).toBe(
      "False NoneLeft: node a-0: every remediation has failed or timed out; " +
        "no controller has reported anything about PowerOff: does it run?",
    );
    world.revive(["a-0"]);
    world.advance(20 * S);
    expect([world.condition(), world.objects("Reboot"), world.objects("PowerOff")]).toEqual([WELL, [], []]);
  });
});

test("a policy uses every right that vigil rbac prints, and no other", () => {
  const world = worldWith({}, {});
  const used = new Set<string>();
  const stop = world.api.faults.add({
    fault: { kind: "latency" },
    when: ({ verb, resource, name }) => {
      const object = resource.plural.endsWith("templates") ? ` ${name}` : "";
      if (resource.group === GROUP) used.add(`${verb} ${resource.plural}${object}`);
      return false;
    },
  });
  world.silence(["a-0"]);
  world.advance(14 * MINUTE);
  world.revive(["a-0"]);
  world.advance(20 * S);
  stop();
  const policy = nodePolicyOf("gpu", { selector: {}, remediations: [stepOf("Reboot"), stepOf("PowerOff")] });
  const roles = remediationRoles([policy], { namespace: "vigil-system", name: "vigil-controller" });
  expect([...used].toSorted()).toEqual(grantsOf(roles).toSorted());
});

/** What roles allow, as `verb resource`, with the names of objects where they are restricted. */
function grantsOf(roles: readonly object[]): string[] {
  const rules = roles.flatMap((role) => ("rules" in role ? (role.rules as Rule[]) : []));
  return rules.flatMap(({ resources, verbs, resourceNames = [""] }) =>
    verbs.flatMap((verb) =>
      resources.flatMap((resource) => resourceNames.map((name) => `${verb} ${resource} ${name}`.trim())),
    ),
  );
}

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}
