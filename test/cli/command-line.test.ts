/** Shows how the command line answers: help for everything, one line for every mistake, the right exit code. */
import { describe, expect, test } from "vitest";
import { runCommandLine } from "../../services/cli/command-line.ts";
import { completionScript } from "../../services/cli/completion-script.ts";
import { VERBS } from "../../services/cli/verb-list.ts";
import { fakeHost } from "./fake-host.ts";

const say = async (argv: readonly string[], files: Record<string, string> = {}) => {
  const host = fakeHost(files);
  const code = await runCommandLine(argv, host);
  return { code, out: host.out(), err: host.err() };
};
const names = VERBS.map(({ name }) => name);

test("a feature gate that has no effect is named in one line, and nothing is refused", async () => {
  const { code, err } = await say(["run", "--feature-gates=SeparateTaintEvictionController=true", "--print-config"]);
  expect(code).toBe(0);
  expect(err).toBe(
    "vigil: --feature-gates: SeparateTaintEvictionController is ignored: taint eviction is always a service of its own\n",
  );
});

describe("help", () => {
  test.each([[[]], [["help"]], [["--help"]], [["-h"]]])("of %j lists every verb", async (argv) => {
    const { code, out } = await say(argv);
    expect(code).toBe(0);
    for (const { name, summary } of VERBS) expect(out).toContain(`${name.padEnd(10)}  ${summary}`);
  });

  test.each(names)("of %s is the same by --help, -h and help, and has an example", async (name) => {
    const { code, out } = await say([name, "--help"]);
    expect(code).toBe(0);
    expect(out).toContain(`Usage: vigil ${name}`);
    expect(out).toContain(`Examples:\n  `);
    expect((await say([name, "-h"])).out).toBe(out);
    expect((await say(["help", name])).out).toBe(out);
  });

  test.each(VERBS)("of $name shows every flag with its meaning and fits the terminal", async ({ name, sections }) => {
    const { out } = await say([name, "--help"]);
    const flags = sections.flatMap(({ settings }) => Object.values(settings));
    for (const { flag } of flags) expect(out).toContain(`  --${flag}`);
    const meanings = out.split("\n").filter((line) => line.startsWith("      "));
    expect(meanings.every((line) => line.length <= 100)).toBe(true);
  });

  test("of run shows kube-controller-manager's spellings too", async () => {
    const { out } = await say(["run", "--help"]);
    expect(out).toContain("--enable-taint-manager=true|false");
    expect(out).toContain("--controllers=*,-taint-eviction-controller");
  });

  test("of run shows flags as a shell takes them: a tilde begins a word", async () => {
    const { out } = await say(["run", "--help"]);
    expect(out).toContain("  --kubeconfig ~/.kube/config\n");
    expect(out).not.toContain("=~");
  });

  test("of get shows the letters that kubectl has for its output and for watching", async () => {
    const { out } = await say(["get", "--help"]);
    expect(out).toContain("Other spellings:\n  -o=table|json|yaml\n      The same as --output.\n  -w\n");
    expect(out.replaceAll(/\s+/g, " ")).toContain("ask again every 2s, and print each row that changed");
  });

  test("writes a switch that is on as it is turned off, and another as it is turned on", async () => {
    const { out } = await say(["agent", "--help"]);
    expect(out).toContain("\n  --register-node=false\n");
    expect(out).toContain("\n  --delete-lease-on-stop\n");
  });

  test("is given even beside flags that are wrong", async () => {
    expect((await say(["run", "--xyzzy", "--help"])).code).toBe(0);
  });
});

describe("a mistake is one line and exit code 2:", () => {
  test.each([
    [["rnu"], "vigil: rnu: no such verb; did you mean run?\n"],
    [["kubectl"], `vigil: kubectl: no such verb; there are ${names.join(", ")}\n`],
    [["help", "machnie"], "vigil: machnie: no such verb; did you mean machine?\n"],
    [["run", "--shaddow"], "vigil: --shaddow: no such flag; did you mean --shadow?\n"],
    [
      ["run", "--node-monitor-grace-period=4x"],
      "vigil: --node-monitor-grace-period=4x: not a duration; write it as 50s or 1m30s\n",
    ],
    [["run", "--config=vigil.yaml"], "vigil: vigil.yaml: shadw: no such field; did you mean shadow?\n"],
    [["version", "please"], "vigil: please: vigil version takes flags only\n"],
    [["machine"], "vigil: machine: name one, node or zone\n"],
    [["machine", "pod"], "vigil: machine pod: name one, node or zone\n"],
    [["completion", "fish"], "vigil: completion fish: name a shell, bash or zsh\n"],
    [["apiserver", "--listen=here"], "vigil: --listen=here: not an address; write it as :8080 or 127.0.0.1:8080\n"],
    [["apiserver", "--listen=:99999"], "vigil: --listen=:99999: not an address; write it as :8080 or 127.0.0.1:8080\n"],
    [["get"], "vigil: get: name one of zones, nodes, timers, fleet\n"],
    [
      ["get", "nodes", "--readiness=unkown"],
      'vigil: --readiness=unkown: "unkown" is none of any, starting, ready, notReady, unknown; did you mean unknown?\n',
    ],
    [["get", "fleet"], "vigil: get fleet: name the NATS it talks on, with --nats\n"],
    [["get", "zones", "eu"], "vigil: get zones eu: eu is too much\n"],
    [["machine", "node", "pod"], "vigil: machine node pod: pod is too much\n"],
    [["completion", "bash", "zsh"], "vigil: completion bash zsh: zsh is too much\n"],
    [["help", "run", "get"], "vigil: help run get: get is too much\n"],
    [
      ["run", "--kubeconfig=/no/such", "--listen=99"],
      "vigil: --listen=99: not an address; write it as :8080 or 127.0.0.1:8080\n",
    ],
    [["playground", "--console=99"], "vigil: --console=99: not an address; write it as :8080 or 127.0.0.1:8080\n"],
    [["explain", "node"], "vigil: explain node: write it as explain node worker-7 or explain pod shop/cart-0\n"],
    [["explain", "pod", "x"], "vigil: explain pod x: write it as explain node worker-7 or explain pod shop/cart-0\n"],
    [["explain", "pod", "x/"], "vigil: explain pod x/: write it as explain node worker-7 or explain pod shop/cart-0\n"],
    [["get", "zones", "--server=nowhere"], "vigil: --server=nowhere: not a URL; write it as http://127.0.0.1:8080\n"],
    [["get", "zones", "--server=ftp://x"], "vigil: --server=ftp://x: not a URL; write it as http://127.0.0.1:8080\n"],
    [["get", "zones", "--readiness=ready"], "vigil: get zones --readiness=ready: only get nodes takes it\n"],
    [["get", "nodes", "--limit=10001"], "vigil: get nodes --limit=10001: must be at most 10000\n"],
    [["get", "zones", "-o", "wide"], 'vigil: -o=wide: "wide" is none of table, json, yaml\n'],
    [["get", "zones", "-o"], "vigil: -o: needs a value, such as -o=table\n"],
    [["get", "zones", "--cluster=blue"], "vigil: get zones --cluster=blue: only get fleet takes it\n"],
    [["get", "timers", "--nats=nats://n"], "vigil: get timers --nats=nats://n: only get fleet takes it\n"],
    [
      ["get", "fleet", "--server=http://vigil:8080"],
      "vigil: get fleet --server=http://vigil:8080: only get zones, get nodes and get timers take it\n",
    ],
    [["get", "fleet", "--limit=3"], "vigil: get fleet --limit=3: only get nodes and get timers take it\n"],
    [["hollow", "--name-prefix=A_B"], /^vigil: --name-prefix=A_B: not what names of nodes can begin with; .*\n$/],
  ])("%j", async (argv, err) => {
    const answer = await say(argv, { "vigil.yaml": "shadw: true" });
    expect(answer).toEqual({ code: 2, out: "", err: typeof err === "string" ? err : expect.stringMatching(err) });
  });
});

describe("what was asked for properly but cannot be done is one line and exit code 1:", () => {
  test.each([
    [["run", "--config=missing.yaml"], "vigil: --config=missing.yaml: no such file\n"],
    [["run", "--kubeconfig=/no/such/file"], /^vigil: kubeconfig \/no\/such\/file: .*no such file.*\n$/],
    [["get", "zones", "--server=http://127.0.0.1:1"], /^vigil: no console at http:\/\/127\.0\.0\.1:1: .*--listen.*\n$/],
    [
      ["apiserver", "--listen=127.0.0.1:0", "--write-kubeconfig=/nowhere/k"],
      "vigil: --write-kubeconfig=/nowhere/k: no such file\n",
    ],
    [["get", "fleet", "--nats=nats://127.0.0.1:1"], /^vigil: NATS at .* cannot be reached: .*\n$/],
  ])("%j", async (argv, err) => {
    const answer = await say(argv);
    expect(answer).toMatchObject({ code: 1, out: "" });
    expect(answer.err).toMatch(err);
  });
});

describe("the small verbs", () => {
  test("version prints the release and the protocol", async () => {
    expect((await say(["version"])).out).toMatch(/^vigil \d+\.\d+\.\d+ \(protocol v1\)\n$/);
  });

  test.each(["node", "zone"])("machine %s prints a Mermaid diagram", async (name) => {
    expect((await say(["machine", name])).out).toMatch(/^stateDiagram-v2\n[\s\S]*-->/);
  });

  test("run --print-config prints a file that run --config reads", async () => {
    const { out } = await say(["run", "--print-config", "--shadow", "--node-monitor-grace-period=40s"]);
    const again = await say(["run", "--config=printed.yaml", "--print-config"], { "printed.yaml": out });
    expect(again.out).toBe(out);
    expect(out).toContain("\nshadow: true\n");
    expect(out).toContain("\nnodeMonitorGracePeriod: 40s\n");
  });
});

describe("completion", () => {
  test.each(["bash", "zsh"] as const)("for %s knows every verb and its flags", async (shell) => {
    const { out } = await say(["completion", shell]);
    expect(out).toBe(completionScript(shell, VERBS));
    for (const name of names) expect(out).toContain(`"${name} "*) words=`);
    expect(out).toContain("--node-monitor-grace-period");
    expect(out).toContain('"run --eviction-mode") words="taint direct" ;;');
  });
});
