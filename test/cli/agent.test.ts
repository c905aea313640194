/** `vigil agent` on the command line: its flags as settings, and its dry run. */
import { hostname } from "node:os";
import { describe, expect, it, test } from "vitest";
import { parse } from "yaml";
import { STANDARD_AGENT } from "../../services/agent/agent.settings.ts";
import { AGENT_SETTINGS, agentSettings } from "../../services/cli/agent/agent-settings.ts";
import { agentVerb } from "../../services/cli/verbs/agent.ts";
import { parseFlags } from "../../services/platform/config/flags.ts";
import type { ValuesOf } from "../../services/platform/config/value.ts";
import { fakeHost } from "./fake-host.ts";

function settings(...argv: string[]) {
  return settingsOn("machine", ...argv);
}

function settingsOn(machine: string, ...argv: string[]) {
  const { given } = parseFlags(argv, AGENT_SETTINGS);
  const values = Object.entries(AGENT_SETTINGS).map(([key, { standard }]) => [key, given.get(key) ?? standard]);
  return agentSettings(Object.fromEntries(values) as ValuesOf<typeof AGENT_SETTINGS>, machine);
}

describe("the agent's settings", () => {
  it("are kubelet's defaults, with a taint that keeps pods away", () => {
    const taints = [{ key: "vigil/runs-no-pods", effect: "NoSchedule" }];
    expect(settings()).toEqual({ ...STANDARD_AGENT, nodeName: "machine", taints });
  });

  it.each([
    [["--node-name=n"], { nodeName: "n" }],
    [["--hostname-override=h"], { nodeName: "h", hostname: "h" }],
    [["--node-labels=a=1,b="], { labels: { a: "1", b: "" } }],
    [["--register-with-taints="], { taints: [] }],
    [
      ["--register-with-taints=a=b:NoExecute,c:PreferNoSchedule"],
      {
        taints: [
          { key: "a", value: "b", effect: "NoExecute" },
          { key: "c", effect: "PreferNoSchedule" },
        ],
      },
    ],
    [["--zone=z", "--region=r", "--instance-type=t"], { zone: "z", region: "r", instanceType: "t" }],
    [["--cloud-provider=external", "--provider-id=p://1"], { externalCloudProvider: true, providerId: "p://1" }],
    [["--node-ip=10.0.0.7,2001:DB8:0::7"], { nodeIps: ["10.0.0.7", "2001:db8::7"] }],
    [["--node-ip=10.0.0.7", "--node-ip=10.0.0.8"], { nodeIps: ["10.0.0.8"] }],
    [["--node-labels=a=1,b=2", "--node-labels=b=3"], { labels: { a: "1", b: "3" } }],
    [["--register-with-taints=a:NoSchedule", "--register-with-taints="], { taints: [] }],
    [["--system-reserved=cpu=500m,memory=1Gi"], { reserved: { cpu: "500m", memory: "1Gi" } }],
    [["--eviction-hard=memory.available<5%"], { thresholds: [{ signal: "memory.available", belowFraction: 0.05 }] }],
    [["--node-lease-duration-seconds=8", "--delete-lease-on-stop"], { leaseSeconds: 8, deleteLeaseOnStop: true }],
    [["--node-status-update-frequency=2s"], { statusComputeMs: 2000, statusReportMs: 2000 }],
    [["--node-status-report-frequency=1m"], { statusComputeMs: 10_000, statusReportMs: 60_000 }],
  ])("are read from %j", (argv, read) => {
    expect(settings(...argv)).toMatchObject(read);
  });

  it.each([
    ["--node-labels=a", "--node-labels=a: write it as key=value"],
    ["--register-with-taints=a", "--register-with-taints=a: write it as key=value:NoSchedule"],
    ["--node-labels=a=b c", "--node-labels=a=b c: not a valid label; write it as rack=a"],
    ["--node-labels=a/b/c=d", "--node-labels=a/b/c=d: not a valid label; write it as rack=a"],
    ["--zone=zone a", "--zone=zone a: not a valid label value; write it as zone-a"],
    ["--region=-", "--region=-: not a valid label value; write it as eu"],
    ["--instance-type=a,b", "--instance-type=a,b: not a valid label value; write it as large"],
    ["--register-with-taints=a b:NoSchedule", "--register-with-taints=a b:NoSchedule: not a valid taint"],
    ["--register-with-taints=a=b c:NoSchedule", "--register-with-taints=a=b c:NoSchedule: not a valid taint"],
    ["--register-with-taints=a:NoSchedule,a=b:NoSchedule", "--register-with-taints: a:NoSchedule is given twice"],
    ["--register-with-taints=a:Never", "--register-with-taints=a:Never: write it as"],
    ["--system-reserved=cpu=much", "--system-reserved=cpu=much: not a quantity"],
    ["--system-reserved=cpu=-1", "--system-reserved=cpu=-1: must be at least 0"],
    ["--system-reserved=mem=1Gi", "--system-reserved=mem=1Gi: must be one of cpu, memory, ephemeral-storage, pid"],
    ["--eviction-hard=memory<1", "--eviction-hard: memory: not a signal"],
    ["--node-ip=here", "--node-ip=here: not an IP address; write it as 10.0.0.7"],
    ["--node-ip=10.0.0.1,10.0.0.2", "--node-ip=10.0.0.1,10.0.0.2: must be one address, or one of each family"],
    ["--node-name=Edge_7", "--node-name=Edge_7: not a valid node name; write it as edge-7"],
    ["--hostname-override=Edge_7", "--hostname-override=Edge_7: not a valid node name; write it as edge-7"],
    ["--cloud-provider=aws", '--cloud-provider=aws: "aws" is none of "", external'],
    ["--node-lease-duration-seconds=0", "--node-lease-duration-seconds=0: must be at least 1"],
    [
      "--node-lease-duration-seconds=2147483648",
      "--node-lease-duration-seconds=2147483648: must be at most 2147483647",
    ],
    ["--node-status-update-frequency=0s", "--node-status-update-frequency=0s: must be at least 1ms"],
  ])("refuse %s in one line", (argument, problem) => {
    expect(() => settings(argument)).toThrow(problem);
  });
});

describe("a machine with an invalid host name", () => {
  it("is refused with one line that names the flag", () => {
    const problem = "host name my_machine: not a valid node name; give one with --node-name=edge-7";
    expect(() => settingsOn("my_machine")).toThrow(problem);
  });

  it("is registered under the name of --node-name", () => {
    expect(settingsOn("my_machine", "--node-name=edge-7")).toMatchObject({ nodeName: "edge-7" });
  });
});

test("a dry run prints this machine as a node, without a cluster", async () => {
  const host = fakeHost();
  expect(await agentVerb.start(["--dry-run", "--zone=z"], host)).toBe(0);
  expect(parse(host.out())).toMatchObject({
    kind: "Node",
    metadata: { name: hostname().toLowerCase(), labels: { "topology.kubernetes.io/zone": "z" } },
    status: { capacity: { pods: "110" }, conditions: [{}, {}, {}, { type: "Ready", status: "True" }] },
  });
});

test("a dry run quotes labels that kubectl would not read as text", async () => {
  const host = fakeHost();
  expect(await agentVerb.start(["--dry-run", "--node-labels=spot=no,slot=010"], host)).toBe(0);
  expect(parse(host.out(), { version: "1.1" })).toMatchObject({ metadata: { labels: { spot: "no", slot: "010" } } });
});
