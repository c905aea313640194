/** The command line: help for every verb, one line for every mistake, and its exit codes. */
import { describe, expect, test } from "vitest";
import { runCommandLine } from "../../services/cli/command-line.ts";
import { completionScript } from "../../services/cli/completion/completion-script.ts";
import { VERBS } from "../../services/cli/verb-list.ts";
import { fakeHost } from "./fake-host.ts";

const run = async (argv: readonly string[], files: Record<string, string> = {}) => {
  const host = fakeHost(files);
  const code = await runCommandLine(argv, host);
  return { code, out: host.out(), err: host.err() };
};
const names = VERBS.map(({ name }) => name);

test("--version prints the same as version", async () => {
  const { code, out } = await run(["--version"]);
  expect([code, out]).toEqual([0, (await run(["version"])).out]);
});

test("a feature gate without effect is accepted with one line of warning", async () => {
  const { code, err } = await run(["run", "--feature-gates=SeparateTaintEvictionController=true", "--print-config"]);
  expect(code).toBe(0);
  expect(err).toBe(
    "vigil: --feature-gates: SeparateTaintEvictionController is ignored: taint eviction is always a service of its own\n",
  );
});

describe("help", () => {
  test.each([[[]], [["help"]], [["--help"]], [["-h"]]])("of %j lists every verb", async (argv) => {
    const { code, out } = await run(argv);
    expect(code).toBe(0);
    for (const { name, summary } of VERBS) expect(out).toContain(`${name.padEnd(10)}  ${summary}`);
  });

  test.each(names)("of %s is the same by --help, -h and help, and has an example", async (name) => {
    const { code, out } = await run([name, "--help"]);
    expect(code).toBe(0);
    expect(out).toContain(`Usage: vigil ${name}`);
    expect(out).toContain(`Examples:\n  `);
    expect((await run([name, "-h"])).out).toBe(out);
    expect((await run(["help", name])).out).toBe(out);
  });

  test.each(VERBS)("of $name shows every flag with its meaning and fits the terminal", async ({ name, sections }) => {
    const { out } = await run([name, "--help"]);
    const flags = sections.flatMap(({ settings }) => Object.values(settings));
    for (const { flag } of flags) expect(out).toContain(`  --${flag}`);
    const meanings = out.split("\n").filter((line) => line.startsWith("      "));
    expect(meanings.every((line) => line.length <= 100)).toBe(true);
  });

  test("of run shows kube-controller-manager's spellings too", async () => {
    const { out } = await run(["run", "--help"]);
    expect(out).toContain("--enable-taint-manager=true|false");
    expect(out).toContain("--controllers=*,-taint-eviction-controller");
  });

  test("of run shows a tilde at the start of a word, where a shell expands it", async () => {
    const { out } = await run(["run", "--help"]);
    expect(out).toContain("  --kubeconfig ~/.kube/config\n");
    expect(out).not.toContain("=~");
  });

  test("of run shows durations by their unit, and defaults as they are written", async () => {
    const { out } = await run(["run", "--help"]);
    const head = "  --node-monitor-grace-period=DURATION\n";
    expect(out).toContain(`${head}      Silence tolerated of a node that has posted its status. Default: 50s\n`);
    expect(out).not.toMatch(/--[a-z-]+=50s/);
  });

  test("of get shows the short flags that kubectl has", async () => {
    const { out } = await run(["get", "--help"]);
    expect(out).toContain(
      "Other spellings:\n  -o=table|wide|name|json|yaml|jsonpath=|custom-columns=\n      The same as --output.\n",
    );
    for (const [letter, flag] of Object.entries({ w: "watch", A: "all-namespaces" })) {
      expect(out).toContain(`  -${letter}\n      The same as --${flag}.\n`);
    }
    expect(out).toContain("  -l=pool=gpu\n      The same as --selector.\n");
    expect(out.replaceAll(/\s+/g, " ")).toContain("query again every 2s and print each row that changed");
  });

  test("shows a switch as a user would change it from its default", async () => {
    const { out } = await run(["agent", "--help"]);
    expect(out).toContain("\n  --register-node=false\n");
    expect(out).toContain("\n  --delete-lease-on-stop\n");
  });

  test("is printed even beside wrong flags", async () => {
    expect((await run(["run", "--xyzzy", "--help"])).code).toBe(0);
  });
});

const EXPLAINED =
  "name one node, pod, zone or policy, as in explain node worker-7, explain pod shop/cart-0, " +
  "explain zone eu-west-1b or explain policy gpu\n";

describe("a mistake is one line and exit code 2:", () => {
  test.each([
    [["rnu"], "vigil: rnu: no such verb; did you mean run?\n"],
    [["constructor"], `vigil: constructor: no such verb; the verbs are ${names.join(", ")}\n`],
    [["kubectl"], `vigil: kubectl: no such verb; the verbs are ${names.join(", ")}\n`],
    [["help", "machnie"], "vigil: machnie: no such verb; did you mean machine?\n"],
    [["run", "--shaddow"], "vigil: --shaddow: no such flag; did you mean --shadow?\n"],
    [
      ["run", "--node-monitor-grace-period=4x"],
      "vigil: --node-monitor-grace-period=4x: not a duration; write it as 50s or 1m30s\n",
    ],
    [["run", "--config=vigil.yaml"], "vigil: vigil.yaml: shadw: no such field; did you mean shadow?\n"],
    [["version", "please"], "vigil: unexpected argument: please; vigil version takes flags only\n"],
    [["machine"], "vigil: machine: name a machine, node or zone\n"],
    [["machine", "pod"], "vigil: machine pod: name a machine, node or zone\n"],
    [["completion", "tcsh"], "vigil: completion tcsh: name a shell, bash, zsh, fish\n"],
    [["apiserver", "--listen=here"], "vigil: --listen=here: not an address; write it as :8080 or 127.0.0.1:8080\n"],
    [["apiserver", "--listen=:99999"], "vigil: --listen=:99999: not an address; write it as :8080 or 127.0.0.1:8080\n"],
    [["get"], "vigil: get: name one of zones, nodes, policies, freezes, timers, stuck, fleet\n"],
    [
      ["get", "nodes", "--readiness=unkown"],
      'vigil: --readiness=unkown: "unkown" is none of any, starting, ready, notReady, unknown; did you mean unknown?\n',
    ],
    [["get", "fleet", "--cluster=b"], "vigil: get fleet --cluster=b: has no effect without --nats\n"],
    [
      ["get", "fleet", "--nats=n", "--server=http://x"],
      "vigil: get fleet --server=http://x: conflicts with --nats; give only one of them\n",
    ],
    [["machine", "node", "pod"], "vigil: machine node pod: unexpected argument: pod; see vigil machine --help\n"],
    [
      ["completion", "bash", "zsh"],
      "vigil: completion bash zsh: unexpected argument: zsh; see vigil completion --help\n",
    ],
    [["help", "run", "get"], "vigil: help run get: unexpected argument: get\n"],
    [
      ["run", "--kubeconfig=/no/such", "--listen=99"],
      "vigil: --listen=99: not an address; write it as :8080 or 127.0.0.1:8080\n",
    ],
    [["playground", "--console=99"], "vigil: --console=99: not an address; write it as :8080 or 127.0.0.1:8080\n"],
    [["explain", "node"], `vigil: explain node: ${EXPLAINED}`],
    [["explain", "pod", "x/"], `vigil: explain pod x/: ${EXPLAINED}`],
    [["explain", "nod", "x"], `vigil: explain nod x: ${EXPLAINED}`],
    [["get", "zones", "--server=nowhere"], "vigil: --server=nowhere: not a URL; write it as http://127.0.0.1:8080\n"],
    [["get", "zones", "--server=ftp://x"], "vigil: --server=ftp://x: not a URL; write it as http://127.0.0.1:8080\n"],
    [["get", "zones", "--readiness=ready"], "vigil: get zones --readiness=ready: only get nodes takes it\n"],
    [["get", "nodes", "--limit=10001"], "vigil: get nodes --limit=10001: must be at most 10000\n"],
    [
      ["get", "zones", "-o", "tall"],
      'vigil: -o=tall: "tall" is none of table, wide, name, json, yaml, jsonpath=, custom-columns=; did you mean table?\n',
    ],
    [["get", "zones", "-o"], "vigil: -o: needs a value, such as -o=table\n"],
    [["get", "zones", "--cluster=blue"], "vigil: get zones --cluster=blue: only get fleet takes it\n"],
    [["get", "timers", "--nats=nats://n"], "vigil: get timers --nats=nats://n: only get fleet takes it\n"],
    [["get", "fleet", "--limit=3"], "vigil: get fleet --limit=3: only get nodes, get timers and get stuck take it\n"],
    [["hollow", "--name-prefix=A_B"], /^vigil: --name-prefix=A_B: not a prefix of node names; .*\n$/],
  ])("%j", async (argv, err) => {
    const answer = await run(argv, { "vigil.yaml": "shadw: true" });
    expect(answer).toEqual({ code: 2, out: "", err: typeof err === "string" ? err : expect.stringMatching(err) });
  });
});

describe("a failure is one line and exit code 1:", () => {
  test.each([
    [["run", "--config=missing.yaml"], "vigil: --config=missing.yaml: no such file\n"],
    [["run", "--kubeconfig=/no/such/file"], /^vigil: kubeconfig \/no\/such\/file: .*no such file.*\n$/],
    [
      ["get", "zones", "--server=http://127.0.0.1:1"],
      /^vigil: no console at http:\/\/127\.0\.0\.1:1 \(--server\): .*--listen.*\n$/,
    ],
    [
      ["apiserver", "--listen=127.0.0.1:0", "--write-kubeconfig=/nowhere/k"],
      "vigil: --write-kubeconfig=/nowhere/k: no such file\n",
    ],
    [["get", "fleet", "--nats=nats://127.0.0.1:1"], /^vigil: NATS at .* cannot be reached: .*\n$/],
  ])("%j", async (argv, err) => {
    const answer = await run(argv);
    expect(answer).toMatchObject({ code: 1, out: "" });
    expect(answer.err).toMatch(err);
  });
});

describe("the small verbs", () => {
  test("version prints the release and the protocol", async () => {
    expect((await run(["version"])).out).toMatch(/^vigil \d+\.\d+\.\d+ \(protocol v1\)\n$/);
  });

  test.each(["node", "zone"])("machine %s prints a Mermaid diagram", async (name) => {
    expect((await run(["machine", name])).out).toMatch(/^stateDiagram-v2\n[\s\S]*-->/);
  });

  test("run --print-config prints a file that run --config reads", async () => {
    const { out } = await run(["run", "--print-config", "--shadow", "--node-monitor-grace-period=40s"]);
    const again = await run(["run", "--config=printed.yaml", "--print-config"], { "printed.yaml": out });
    expect(again.out).toBe(out);
    expect(out).toContain("\nshadow: true\n");
    expect(out).toContain("\nnodeMonitorGracePeriod: 40s\n");
  });
});

describe("completion", () => {
  test.each(["bash", "zsh"] as const)("for %s has every verb and its flags", async (shell) => {
    const { out } = await run(["completion", shell]);
    expect(out).toBe(completionScript(shell, VERBS));
    for (const name of names) expect(out).toContain(`"${name} "*) words=`);
    expect(out).toContain("--node-monitor-grace-period");
    expect(out).toContain('"run --eviction-mode") words="taint direct" ;;');
  });
});
