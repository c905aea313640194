/** Shows how `vigil run` reads its flags and its file, and how it names what it cannot use. */
import { describe, expect, test } from "vitest";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { STANDARD_PROFILE, TUNABLES } from "../../protocols/profile.ts";
import { parseRun, printConfig, RUN_SETTINGS } from "../../services/platform/config/config.ts";
import { ConfigProblem, exampleOf } from "../../services/platform/config/value.ts";

const noFile = (path: string): string => {
  throw new Error(`${path} must not be read`);
};
const run = (argv: readonly string[], file = "") => parseRun(argv, file === "" ? noFile : () => file).config;
const problemOf = (act: () => unknown): string => {
  try {
    act();
  } catch (problem) {
    if (problem instanceof ConfigProblem) return problem.message;
    throw problem;
  }
  return "no problem";
};

describe("without flags", () => {
  test("the profile is kube-controller-manager's", () => expect(run([]).profile).toEqual(STANDARD_PROFILE));

  test("every service runs, in memory, for real, and nothing listens", () => {
    expect(run([]).process).toMatchObject({ nats: [], services: SERVICE_NAMES, shadow: false, listen: "" });
  });
});

describe("a flag", () => {
  test.each([
    [["--node-monitor-grace-period=1m30s"], { nodeMonitorGraceMs: 90_000 }],
    [["--node-monitor-grace-period", "40s"], { nodeMonitorGraceMs: 40_000 }],
    [["-node-monitor-grace-period=40s"], { nodeMonitorGraceMs: 40_000 }],
    [["--node_monitor_grace_period=40s"], { nodeMonitorGraceMs: 40_000 }],
    [["--node_monitor-grace_period", "40s"], { nodeMonitorGraceMs: 40_000 }],
    [["--enable_taint_manager=false"], { evictionMode: "direct" }],
    [["--pod-eviction-timeout=0s"], { podEvictionTimeoutMs: 0 }],
    [["--ask-retry=60s", "--ask-retry-max=60s"], { askRetryMs: 60_000 }],
    [["--node-eviction-rate=0"], { nodeEvictionsPerSecond: 0 }],
    [["--node-eviction-rate=1e-1"], { nodeEvictionsPerSecond: 0.1 }],
    [["--toleration-comparison-operators"], { tolerationComparisonOperators: true }],
    [["--remediation-dry-run"], { remediationDryRun: true }],
    [["--toleration-comparison-operators=false"], { tolerationComparisonOperators: false }],
    [["--pulse-period=1s", "--pulse-period=2s"], { pulsePeriodMs: 2000 }],
    [["--enable-taint-manager=false"], { evictionMode: "direct" }],
    [["--enable-taint-manager"], { evictionMode: "taint" }],
    [["--kube-api-qps=20", "--kube-api-burst=30"], { kubeApiQps: 20, kubeApiBurst: 30 }],
  ])("%j sets %j", (argv, expected) => expect(run(argv).profile).toMatchObject(expected));

  test.each([
    [["--nats=nats://a:4222,nats://b:4222"], { nats: ["nats://a:4222", "nats://b:4222"] }],
    [["--services", "observer, node"], { services: ["observer", "node"] }],
    [["--shadow"], { shadow: true }],
    [["--controllers=*"], { services: SERVICE_NAMES }],
    [["--upstream=beside"], { services: ["observer", "node", "node-writer", "pod-writer", "ledger", "policy"] }],
    [["--upstream=beside", "--services=observer,node"], { services: ["observer", "node"] }],
    [
      ["--controllers=*,-taint-eviction-controller"],
      { services: ["observer", "node", "zone", "node-writer", "pod-writer", "ledger", "policy"] },
    ],
    [["--controllers=*,-nodelifecycle"], { services: ["observer", "taint-manager", "pod-writer", "ledger", "policy"] }],
    [
      ["--controllers=taint-eviction-controller,deployment"],
      { services: ["observer", "taint-manager", "pod-writer", "ledger", "policy"] },
    ],
  ])("%j sets %j of the process", (argv, expected) => expect(run(argv).process).toMatchObject(expected));

  test.each(Object.entries(TUNABLES))("of tunable %s takes the default it prints", (name, tunable) => {
    const printed = printConfig(run([])).split("\n");
    const field = printed[printed.indexOf(`# ${tunable.meaning}`) + 1] ?? "";
    const value = field.slice(field.indexOf(": ") + 2);
    expect(run([`--${tunable.flag}=${value}`]).profile).toHaveProperty(name, tunable.standard);
  });

  test.each(Object.values(RUN_SETTINGS))("--$flag has an example and a meaning for its help", (setting) => {
    expect(exampleOf(setting)).not.toBe("");
    expect(setting.meaning).toMatch(/[.)]$/);
  });
});

describe("a flag that cannot be used is named with its value and the fix:", () => {
  test.each([
    [["--node-monitor-grace-period=4x"], "--node-monitor-grace-period=4x: not a duration; write it as 50s or 1m30s"],
    [["--node-monitor-grace-period=40"], "--node-monitor-grace-period=40: not a duration; write it as 50s or 1m30s"],
    [["--node-monitor-grace-period=-1s"], "--node-monitor-grace-period=-1s: must be at least 1ms"],
    [
      ["--node-monitor-grace-period"],
      "--node-monitor-grace-period: needs a value, such as --node-monitor-grace-period=50s",
    ],
    [["--nats", "--shadow"], "--nats: needs a value, such as --nats=nats://127.0.0.1:4222"],
    [["--controllers"], "--controllers: needs a value, such as --controllers=*,-taint-eviction-controller"],
    [
      ["--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"],
      "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller: leaves Vigil nothing to decide; " +
        "name node-lifecycle-controller or taint-eviction-controller, or leave the flag out",
    ],
    [["--node-monitor-grace=1s"], "--node-monitor-grace=1s: no such flag; did you mean --node-monitor-grace-period?"],
    [["--shaddow"], "--shaddow: no such flag; did you mean --shadow?"],
    [["--xyzzy"], "--xyzzy: no such flag; --help lists them"],
    [["--node-eviction-rate=fast"], "--node-eviction-rate=fast: not a number; write it as 0.1"],
    [["--node-eviction-rate=-1"], "--node-eviction-rate=-1: must be at least 0"],
    [["--node-eviction-rate=Infinity"], "--node-eviction-rate=Infinity: not a number; write it as 0.1"],
    [["--node-eviction-rate=1e400"], "--node-eviction-rate=1e400: too large; write it as 0.1"],
    [["--circuit-breaker-reset-after=99999999h"], "--circuit-breaker-reset-after=99999999h: must be at most 8760000h"],
    [["--circuit-breaker-percentage=150"], "--circuit-breaker-percentage=150: must be at most 100"],
    [["--unhealthy-zone-threshold=55"], "--unhealthy-zone-threshold=55: must be between 0 and 1"],
    [["--large-cluster-size-threshold=2.5"], "--large-cluster-size-threshold=2.5: not a whole number; write it as 50"],
    [
      ["--feature-gates=SeparateTaintEvictionController"],
      "--feature-gates=SeparateTaintEvictionController: write it as Name=true or Name=false",
    ],
    [["--feature-gates=A=true,B=on"], "--feature-gates=B=on: write it as Name=true or Name=false"],
    [["--shadow=yes"], "--shadow=yes: not a switch; write it as true or false"],
    [["--remediation-dry-run=server"], "--remediation-dry-run=server: not a switch; write it as true or false"],
    [["--remediations-dry-run"], "--remediations-dry-run: no such flag; did you mean --remediation-dry-run?"],
    [["--enable-taint-manager=no"], "--enable-taint-manager=no: write it as true or false"],
    [["--eviction-mode=dircet"], '--eviction-mode=dircet: "dircet" is none of taint, direct; did you mean direct?'],
    [
      ["--services=node,zome"],
      `--services=node,zome: "zome" is none of ${SERVICE_NAMES.join(", ")}; did you mean zone?`,
    ],
    [["--services="], "--services=: name at least one service"],
    [
      ["--upstream=beside", "--services=observer,zone,taint-manager"],
      "--services=observer,zone,taint-manager: with --upstream=beside leave zone and taint-manager out, because " +
        "upstream's controllers taint and evict",
    ],
    [["--upstream=beside", "--eviction-mode=direct"], "--eviction-mode=direct: must be taint with --upstream=beside"],
    [["--services=node,zone"], "--services=node,zone: without --nats the observer must be among them"],
    [["--nats-creds=a.creds"], "--nats-creds: needs --nats"],
    [["--nats-history-nkey=a.nk"], "--nats-history-nkey: needs --nats"],
    [["--nats=http://a"], '--nats: NATS server "http://a": write it as nats://host:4222 or tls://host:4222'],
    [["--pulse-timeout=1s"], "--pulse-timeout=1s: must be longer than --pulse-period=2s"],
    [["--ask-retry=61s"], "--ask-retry=1m1s: must not be longer than --ask-retry-max=1m"],
    [["--ask_retry_max=1s"], "--ask-retry=2s: must not be longer than --ask-retry-max=1s"],
    [["--node_monitor_grace=1s"], "--node_monitor_grace=1s: no such flag; did you mean --node-monitor-grace-period?"],
    [["node-1"], "unexpected argument: node-1; vigil run takes flags only"],
  ])("%j", (argv, expected) => expect(problemOf(() => run(argv))).toBe(expected));
});

describe("a list that is given again", () => {
  test.each<[string[], object]>([
    [["--nats=nats://a:4222", "--nats=nats://b:4222"], { nats: ["nats://a:4222", "nats://b:4222"] }],
    [["--services=observer", "--services=node,zone"], { services: ["observer", "node", "zone"] }],
    [["--services=observer,node", "--services="], { services: ["observer", "node"] }],
    [["--services=", "--services", "observer"], { services: ["observer"] }],
    [
      ["--controllers=*", "--controllers=-nodelifecycle"],
      { services: ["observer", "taint-manager", "pod-writer", "ledger", "policy"] },
    ],
    [
      ["--controllers=deployment", "--controllers=taint-eviction-controller"],
      { services: ["observer", "taint-manager", "pod-writer", "ledger", "policy"] },
    ],
    [["--controllers=*", "--services=observer", "--services=node"], { services: ["observer", "node"] }],
    [["--listen=:0", "--listen_hosts=a", "--listen-hosts=b"], { listenHosts: ["a", "b"] }],
    [["--listen=:0", "--grafana-url=http://g.example/d/vigil"], { grafanaUrl: "http://g.example/d/vigil" }],
  ])("adds to the earlier one: %j", (argv, expected) => expect(run(argv).process).toMatchObject(expected));

  test("is named as a whole when it is wrong", () => {
    expect(problemOf(() => run(["--services=node", "--services=zone"]))).toBe(
      "--services=node,zone: without --nats the observer must be among them",
    );
  });

  test("wins as a whole over a file", () => {
    const argv = ["--config=vigil.yaml", "--services=observer", "--services=node"];
    expect(run(argv, "services: [zone]\n").process.services).toEqual(["observer", "node"]);
  });
});

describe("a controller-manager gate", () => {
  const gates = (value: string, ...argv: string[]) => parseRun([`--feature-gates=${value}`, ...argv], noFile);

  test.each(["true", "false"])("gone since 1.37 changes nothing and is logged (%s)", (value) => {
    const { config, remarks } = gates(`SeparateTaintEvictionController=${value}`);
    expect(config).toEqual(run([]));
    expect(remarks).toEqual([
      "--feature-gates: SeparateTaintEvictionController is ignored: taint eviction is always a service of its own",
    ]);
  });

  test("for what Vigil always does changes nothing", () => {
    const { config, remarks } = gates("NodeControllerLeaseCircuitBreaker=false");
    expect(config).toEqual(run([]));
    expect(remarks).toEqual([
      "--feature-gates: NodeControllerLeaseCircuitBreaker is ignored: every verdict is preceded by a live read of the lease",
    ]);
  });

  test("with a flag of Vigil sets it, unless the flag is given", () => {
    const { config, remarks } = gates("TaintTolerationComparisonOperators=true");
    expect(config.profile.tolerationComparisonOperators).toBe(true);
    expect(remarks).toEqual([]);
    const both = gates("TaintTolerationComparisonOperators=true", "--toleration-comparison-operators=false");
    expect(both.config.profile.tolerationComparisonOperators).toBe(false);
  });

  test("stays set when the flag is given again", () => {
    const { config, remarks } = gates("TaintTolerationComparisonOperators=true", "--feature-gates=A=true");
    expect(config.profile.tolerationComparisonOperators).toBe(true);
    expect(remarks).toHaveLength(1);
    const off = gates(
      "TaintTolerationComparisonOperators=true",
      "--feature-gates=TaintTolerationComparisonOperators=false",
    );
    expect(off.config.profile.tolerationComparisonOperators).toBe(false);
  });

  test("of other controllers is ignored and logged", () => {
    expect(gates("JobPodReplacementPolicy=true, TaintTolerationComparisonOperators=true")).toMatchObject({
      config: { profile: { tolerationComparisonOperators: true } },
      remarks: ["--feature-gates: JobPodReplacementPolicy is ignored: it is no gate of Vigil's controllers"],
    });
  });
});

describe("a file", () => {
  test("sets what it names, and a flag wins over it", () => {
    const file = "nodeMonitorGracePeriod: 40s\nnodeEvictionRate: 0.5\nservices: [observer, zone]\nshadow: true\n";
    const config = run(["--config=vigil.yaml", "--node-eviction-rate=0.2"], file);
    expect(config.profile).toMatchObject({ nodeMonitorGraceMs: 40_000, nodeEvictionsPerSecond: 0.2 });
    expect(config.process).toMatchObject({ services: ["observer", "zone"], shadow: true });
  });

  test("may be empty", () => expect(run(["--config=vigil.yaml"], "# nothing yet\n").profile).toEqual(STANDARD_PROFILE));

  test("made by --print-config is read back to the same configuration", () => {
    const config = run([
      "--nats=nats://a:4222",
      "--cluster=prod eu: #1",
      "--services=node",
      "--pulse-timeout=1m30s",
      "--unhealthy-zone-threshold=0.7",
      "--eviction-mode=direct",
    ]);
    expect(run(["--config=printed.yaml"], printConfig(config))).toEqual(config);
  });

  test.each([
    ["nodeMonitorGrace: 40s", "vigil.yaml: nodeMonitorGrace: no such field; did you mean nodeMonitorGracePeriod?"],
    ["xyzzy: 1", "vigil.yaml: xyzzy: no such field"],
    ["nodeMonitorGracePeriod: 40", "vigil.yaml: nodeMonitorGracePeriod: 40: not a duration; write it as 50s or 1m30s"],
    [
      "nodeMonitorGracePeriod: 4x",
      'vigil.yaml: nodeMonitorGracePeriod: "4x": not a duration; write it as 50s or 1m30s',
    ],
    ['nodeEvictionRate: "0.5"', 'vigil.yaml: nodeEvictionRate: "0.5": not a number; write it as 0.1'],
    ['shadow: "true"', 'vigil.yaml: shadow: "true": not a switch; write it as true or false'],
    ["services: node", 'vigil.yaml: services: "node": not a list of texts; write it as [node,zone]'],
    ["cluster: 007", 'vigil.yaml: cluster: 7: not a text; write it as "prod-eu"'],
    ["shadow: {a: 1}", 'vigil.yaml: shadow: {"a":1}: not a switch; write it as true or false'],
    ["listen:", 'vigil.yaml: listen: null: not a text; write it as ":8080"'],
    ["config: other.yaml", "vigil.yaml: config: no such field; did you mean kubeconfig?"],
    ["- shadow", "vigil.yaml: must hold fields, such as shadow: true"],
  ])("%j is refused by name", (file, expected) => {
    expect(problemOf(() => run(["--config=vigil.yaml"], file))).toBe(expected);
  });

  test("that is not YAML is refused with the place of the fault", () => {
    expect(problemOf(() => run(["--config=vigil.yaml"], "a: [1\nb"))).toMatch(/^vigil\.yaml: not YAML: .* at line \d+/);
  });

  test.each(["listenHosts: [*.example.com]", "nats: *all", "nats: &all [*all]"])(
    "%j is refused, because YAML reads an alias",
    (text) =>
      expect(problemOf(() => run(["--config=vigil.yaml"], text))).toMatch(
        /^vigil\.yaml: .+; quote a text that begins with \*$/,
      ),
  );

  test("may share a part of a policy by an alias", () => {
    const spec = "{selector: {matchLabels: &pool {pool: a}}}";
    const text = `policies: [{name: a, spec: ${spec}}, {name: b, spec: {selector: {matchLabels: *pool}}}]`;
    expect(parseRun(["--config=vigil.yaml"], () => text).config.policies).toHaveLength(2);
  });
});

describe("the command line:", () => {
  test("--help asks for help, whatever else is given; reads no file", () => {
    expect(parseRun(["--config=missing.yaml", "--help"], noFile).help).toBe(true);
  });

  test.each([
    [["--listen-token-file=t"], "--listen-token-file: needs --listen"],
    [["--listen-authentication=kubernetes"], "--listen-authentication=kubernetes: needs --listen"],
    [
      ["--listen=:8080", "--listen-authentication=kubernetes"],
      "--listen-authentication=kubernetes: accepts tokens of the cluster over TLS only; give --listen-tls-cert",
    ],
    [["--listen-hosts=a.example"], "--listen-hosts: needs --listen"],
    [["--grafana-url=https://g.example"], "--grafana-url: needs --listen"],
    ...["javascript:alert(1)", "g.example"].map((url): [string[], string] => [
      ["--listen=:0", `--grafana-url=${url}`],
      `--grafana-url=${url}: not a URL that begins with https:// or http://`,
    ]),
    [
      ["--listen=:0", "--grafana-url=https://me:secret@g.example"],
      "--grafana-url: must have no user and no password, because the dashboard shows it",
    ],
    [["--listen=:8080", "--listen-tls-key=k"], "--listen-tls-key=k: needs --listen-tls-cert"],
  ])("%j is refused with one line", (argv, problem) => expect(problemOf(() => run(argv))).toBe(problem));

  test.each([
    ["nats://vigil:hunter2@nats:4222", "nats://***@nats:4222"],
    ["nats://hunter2@nats:4222", "nats://***@nats:4222"],
    ["vigil:hunter2@nats", "***@nats"],
    ["tls://nats:4222", "tls://nats:4222"],
  ])("--print-config shows --nats=%s as %s", (given, shown) => {
    const printed = printConfig(run([`--nats=${given},b`]));
    expect(printed).toContain(`nats: ["${shown}","b"]`);
    expect(printed).not.toContain("hunter2");
  });

  test("a printed file is refused until its credentials are filled in", () => {
    const printed = printConfig(run(["--nats=nats://vigil:hunter2@nats:4222"]));
    expect(problemOf(() => run(["--config=printed.yaml"], printed))).toBe(
      '--nats: NATS server "nats://***@nats:4222": put its credentials in place of ***, ' +
        "which --print-config shows instead of them",
    );
  });

  test("--print-config asks for the configuration", () => {
    expect(parseRun(["--print-config"], noFile).printConfig).toBe(true);
  });
});

describe("the policies of a configuration file", () => {
  const gpu = { name: "gpu", spec: { selector: { matchLabels: { pool: "gpu" } } } };
  const read = (policies: unknown) => parseRun(["--config=v.yaml"], () => JSON.stringify({ policies })).config.policies;

  test("are printed so that they are read again", () => {
    expect(read([gpu])).toEqual([gpu]);
    const printed = printConfig(parseRun(["--config=v.yaml"], () => JSON.stringify({ policies: [gpu] })).config);
    expect(parseRun(["--config=v.yaml"], () => printed).config.policies).toEqual([gpu]);
  });

  test("may be whole objects, as a cluster has them", () => {
    const metadata = { name: "gpu", uid: "u-1", annotations: { note: "kept" } };
    const head = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata };
    expect(read([{ ...head, spec: gpu.spec, status: { nodes: 3 } }])).toEqual([gpu]);
    const refused = (changes: object) => problemOf(() => read([{ ...head, spec: gpu.spec, ...changes }]));
    expect(refused({ kind: "Node" })).toBe('v.yaml: policies[0].kind: "Node": must be NodePolicy');
    expect(refused({ apiVersion: "v1" })).toBe('v.yaml: policies[0].apiVersion: "v1": must be vigil.io/v1alpha1');
    expect(refused({ metadata: {} })).toBe("v.yaml: policies[0].name: undefined: write a name such as gpu");
    expect(refused({ extra: 1 })).toContain("v.yaml: policies[0].extra: no such field: write {name: gpu, ");
  });

  test("are none without the field", () => expect(parseRun([], () => "").config.policies).toEqual([]));

  test.each<[unknown, string]>([
    [{ gpu }, "v.yaml: policies: not a list; write entries such as "],
    [["gpu"], "v.yaml: policies[0]: write {name: gpu, "],
    [[{ name: "gpu", selector: {} }], "v.yaml: policies[0].selector: no such field: write {name: gpu, "],
    [[{ ...gpu, name: "GPU" }], 'v.yaml: policies[0].name: "GPU": write a name such as gpu'],
    [[gpu, gpu], "v.yaml: policies: gpu: the name is used twice; give each policy its own"],
    [
      [gpu, { name: "spot", spec: { ...gpu.spec, maxUnhealty: 1 } }],
      "v.yaml: policies[1] (spot): spec.maxUnhealty: no such field; did you mean maxUnhealthy?",
    ],
    [[{ name: "gpu", spec: {} }], "v.yaml: policies[0] (gpu): spec.selector: missing; write a label selector"],
  ])("%j are refused in one line", (policies, message) => expect(() => read(policies)).toThrow(message));
});
