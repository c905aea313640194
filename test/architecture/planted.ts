/** Small files that each break one architecture rule, for the test to catch. */

/** One planted breach: its file, its source, and a part of the problem that must be reported. */
interface Planted {
  readonly what: string;
  readonly path: string;
  readonly text: string;
  readonly caught: string;
}

const HEAD = "/** A planted file. */\n\n";
const inNode = (what: string, body: string, caught: string): Planted => ({
  what,
  path: "services/node/planted.ts",
  text: HEAD + body,
  caught,
});
const inProtocol = (what: string, body: string, caught: string): Planted => ({
  ...inNode(what, body, caught),
  path: "protocols/planted.ts",
});
const inTable = (what: string, body: string, caught: string): Planted => ({
  ...inNode(what, body, caught),
  path: "services/ledger/explain/planted.policy.ts",
});
const nested = (depth: number): string => (depth === 0 ? "run();" : `if (ready) { ${nested(depth - 1)} }`);

/** The planted breaches; exactly one rule must catch each. */
export const PLANTED: readonly Planted[] = [
  inNode("a service imports another service", 'import "../zone/zone.policy.ts";', "may not import services/zone"),
  inNode("a service imports the sandbox", 'import "../sandbox/hollow/node.ts";', "may not import services/sandbox"),
  {
    what: "a domain rule imports the bus",
    path: "services/domain/planted.ts",
    text: `${HEAD}import "../platform/bus/bus.ts";`,
    caught: "may not import services/platform/bus",
  },
  {
    what: "a structure imports the Kubernetes client's room",
    path: "services/structures/planted.ts",
    text: `${HEAD}import "../platform/kube/kube.ts";`,
    caught: "may not import services/platform/kube",
  },
  {
    what: "a structure imports a domain rule",
    path: "services/structures/planted.ts",
    text: `${HEAD}import "../domain/duration.ts";`,
    caught: "may not import services/domain",
  },
  {
    what: "a domain rule reads the clock",
    path: "services/domain/planted.ts",
    text: `${HEAD}start(Date);`,
    caught: "Date: take instants",
  },
  inNode("the core of a service names a policy", "const isFrozen = policyOf(node);", "policies stand in"),
  inNode("the core of a service imports a concern", 'import "./concerns/conditions/conditions.ts";', "may not import"),
  inNode("a service imports the command line", 'export * from "../cli/verb.ts";', "may not import services/cli"),
  inNode("a late import crosses services", 'void import("../zone/zone.policy.ts");', "may not import services/zone"),
  inProtocol(
    "a protocol imports the platform",
    'import "../services/platform/bus/bus.ts";',
    "may not import services/platform",
  ),
  inProtocol("a protocol opens a file", 'import "node:fs";', "take it as a port"),
  inProtocol("a protocol reads the clock", "start(Date);", "Date: take instants"),
  {
    what: "a policy imports a service",
    path: "services/node/planted.policy.ts",
    text: `${HEAD}import "./node.service.ts";`,
    caught: "decisions may not import",
  },
  inNode("a service talks to NATS itself", 'import "@nats-io/nats-core";', "imported only in"),
  inNode("a service loads the Kubernetes client", 'import "@kubernetes/client-node";', "imported only in"),
  {
    what: "the file of its types loads the Kubernetes client",
    path: "services/platform/kube/write/sent-bodies.ts",
    text: `${HEAD}import "@kubernetes/client-node";`,
    caught: "imported only in",
  },
  inNode("xstate outside a machine", 'import { setup } from "xstate";\nsetup({});', "imported only in"),
  inNode("an actor opens a file", 'import "node:fs";', "take it as a port"),
  inNode("an actor reads the clock", "start(Date);", "Date: take instants"),
  inNode("an actor sets a timer", "setTimeout(fire, 5);", "setTimeout: take the Clock"),
  inNode("an actor throws dice", "draw(Math.random());", "Math.random: take Random"),
  inNode("an actor reads the environment", "start(process.env);", "process: take it"),
  inNode("an actor prints", "console.log(1);", "console: take the Log"),
  inNode("an actor awaits", "await started;", "no await"),
  inNode("an actor holds a promise", "let answer: Promise<number> | null = null;", "no await"),
  inNode("an export says nothing of itself", "export const grace = 5;", "export without a docstring"),
  inNode(
    "an export directly before another's docstring has none of its own",
    "export const grace = 5;\n/** Seconds. */\nexport const pause = 6;",
    "export without a docstring",
  ),
  inNode("a long function", `function long() {\n${"run();\n".repeat(60)}}`, "function of 62 lines"),
  inNode(
    "a long function of short ones",
    `function long() {\n${`run(() => {\n${"run();\n".repeat(20)}});\n`.repeat(3)}}`,
    "function of 68 lines",
  ),
  inNode("a deep nest", `function deep() { ${nested(4)} }`, "nested deeper than 3"),
  inNode("a long line", `// ${"word ".repeat(30)}`, "over 120 characters"),
  inNode("a leftover", `// ${"TO"}DO later`, "leftover"),
  inNode("a silenced type error", `// @ts-${"ignore"}`, "silenced type error"),
  inNode("a silenced linter", `// biome-${"ignore"} lint`, "silenced linter"),
  inNode("a double cast", `run(value ${"as"} unknown as number);`, "double cast"),
  inNode("a banner", `// ${"-".repeat(8)}`, "banner"),
  inNode("an empty name", "/** Sums. */\nexport function nodeUtils() {}", "nodeUtils says nothing"),
  {
    what: "the command line prints beside its terminal",
    path: "services/cli/planted.ts",
    text: `${HEAD}console.log(1);`,
    caught: "console: write to the terminal",
  },
  {
    what: "a docstring that does not come first",
    path: "services/node/planted.ts",
    text: "run();\n/** A planted file. */\n",
    caught: "must open with",
  },
  {
    what: "a test with a long name",
    path: "test/planted.test.ts",
    text: `${HEAD}test.each(rows)("${"a".repeat(81)}", run);`,
    caught: "test name of 81 characters",
  },
  {
    what: "a short name in a describe with a long title",
    path: "test/planted.test.ts",
    text: `${HEAD}describe.each(rows)("${"a".repeat(79)}", () => test("b", run));`,
    caught: "test name of 81 characters",
  },
  {
    what: "a test that does not run",
    path: "test/planted.test.ts",
    text: `${HEAD}test.${"only"}("x", run);`,
    caught: "a test that does not run",
  },
  {
    what: "a file without its docstring",
    path: "services/node/planted.ts",
    text: "run();\n",
    caught: "must open with",
  },
  {
    what: "a test that answers the signals of its process",
    path: "test/planted.test.ts",
    text: `${HEAD}serve({ ...thisProcess() });`,
    caught: "take processFiles",
  },
  {
    what: "a test on a real server in the set of npm test",
    path: "test/journey/planted.test.ts",
    text: `${HEAD}import { describeWithNats } from "../support/nats-programs.ts";\ndescribeWithNats("x", run);\n`,
    caught: "name it *.real.test.ts",
  },
  inTable(
    "a table of sentences has a guess for the rest",
    'switch (state) { default: say("all is well"); }',
    "a default",
  ),
  inTable("a missing instant is left out of a sentence", 'sentence("due", { at: at ?? "" });', "a missing value"),
  inTable(
    "a table of reasons ends in a guess",
    'function why() { if (a) return "late"; if (b) return "early"; return "it is not due"; }',
    "the last branch",
  ),
];
