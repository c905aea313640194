/** The setters of addresses, versions, endpoints, images, platform and scheduling, and the order of all. */
import { describe, expect, it } from "vitest";
import type { AgentSettings } from "../../services/agent/agent.settings.ts";
import type { HostAddresses, MachineStats } from "../../services/agent/machine-stats.ts";
import type { NodeObject } from "../../services/agent/node-object.ts";
import { setAddresses } from "../../services/agent/setters/addresses.ts";
import {
  reportSchedulable,
  setEndpoints,
  setImages,
  setPlatform,
  setVersion,
} from "../../services/agent/setters/description.ts";
import { computeStatus } from "../../services/agent/setters.ts";
import { inputOf, nodeOf, STATS, settingsOf } from "./agent-fixtures.ts";

const PROVIDED = "alpha.kubernetes.io/provided-node-ip";
const withFigures = (changes: Partial<MachineStats>) => inputOf({ stats: { ...STATS, ...changes } });

function addresses(settings: Partial<AgentSettings>, found: Partial<HostAddresses> = {}, node: NodeObject = nodeOf()) {
  const stats = { ...STATS, addresses: { ...STATS.addresses, ...found } };
  const { node: set, problem } = setAddresses(node, inputOf({ stats, settings: settingsOf(settings) }));
  const list = set.status?.addresses?.map(({ type, address }) => `${type}=${address}`);
  return { list, problem, annotation: set.metadata.annotations?.[PROVIDED] };
}

describe("addresses", () => {
  it.each<[string, Partial<AgentSettings>, Partial<HostAddresses>, string[]]>([
    ["the default route's address", {}, {}, ["InternalIP=10.0.0.7", "Hostname=host-1"]],
    ["the given IP", { nodeIps: ["10.0.0.8"] }, { local: ["10.0.0.8"] }, ["InternalIP=10.0.0.8", "Hostname=host-1"]],
    [
      "both given IPs",
      { nodeIps: ["10.0.0.8", "fd00::8"] },
      { local: ["10.0.0.8", "fd00::8"] },
      ["InternalIP=10.0.0.8", "InternalIP=fd00::8", "Hostname=host-1"],
    ],
    ["a hostname that is an IP", { hostname: "10.9.9.9" }, {}, ["InternalIP=10.9.9.9", "Hostname=10.9.9.9"]],
    [
      "the IPv4 address of the name",
      {},
      { local: ["10.0.0.7", "10.0.0.9", "fd00::9"], resolved: ["127.0.1.1", "fd00::9", "10.0.0.9"] },
      ["InternalIP=10.0.0.9", "Hostname=host-1"],
    ],
    [
      "IPv6 if there is no other",
      {},
      { local: ["fd00::9"], resolved: ["fd00::9"] },
      ["InternalIP=fd00::9", "Hostname=host-1"],
    ],
    ["the hostname alone in a cloud without an IP", { externalCloudProvider: true }, {}, ["Hostname=host-1"]],
  ])("are %s (R9.21–R9.24)", (_, settings, found, list) => {
    expect(addresses(settings, found)).toMatchObject({ list, problem: undefined });
  });

  it.each([
    ["127.0.0.1", "can't be loopback address"],
    ["::1", "can't be loopback address"],
    ["224.0.0.1", "can't be a multicast address"],
    ["ff02::1", "can't be a multicast address"],
    ["169.254.1.1", "can't be a link-local unicast address"],
    ["fe80::1", "can't be a link-local unicast address"],
    ["0.0.0.0", "can't be an all zeros address"],
    ["10.0.0.99", "not found in the host's network interfaces"],
    ["ten", "not an IP address"],
  ])("refuse %s as node IP: %s, and set nothing (R9.21)", (ip, why) => {
    expect(addresses({ nodeIps: [ip] })).toEqual({ list: undefined, problem: `nodeIP ${ip}: ${why}` });
  });

  it("fail when there is none (R9.23)", () => {
    const problem = "can't get ip address of node node-1";
    expect(addresses({}, { defaultRoute: null })).toMatchObject({ list: undefined, problem });
  });

  it("set by an external cloud stay; node IPs are annotated (R9.21, R9.22)", () => {
    const node = nodeOf({ status: { addresses: [{ type: "ExternalIP", address: "192.0.2.9" }] } });
    const settings = { externalCloudProvider: true, nodeIps: ["10.0.0.7"] };
    expect(addresses(settings, {}, node)).toEqual({ list: ["ExternalIP=192.0.2.9"], annotation: "10.0.0.7" });
  });

  it("remove the cloud's annotation without a cloud (R9.21)", () => {
    const node = nodeOf({ metadata: { annotations: { [PROVIDED]: "10.0.0.7", other: "stays" } } });
    const { node: set } = setAddresses(node, inputOf());
    expect(set.metadata.annotations).toEqual({ other: "stays" });
  });
});

describe("versions and platform", () => {
  it("are set, with kubeProxyVersion cleared", () => {
    const steps = [setVersion, setEndpoints, setPlatform];
    const node = steps.reduce((before, setter) => setter(before, inputOf()).node, nodeOf());
    expect(node.status).toEqual({
      nodeInfo: {
        kernelVersion: "6.1.0",
        osImage: "Debian",
        containerRuntimeVersion: "test://1",
        kubeletVersion: "v1.36.0-vigil",
        kubeProxyVersion: "",
        operatingSystem: "linux",
        architecture: "amd64",
      },
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    });
  });

  it("are Unknown without a runtime, and unset without versions", () => {
    const silent = setVersion(nodeOf(), withFigures({ version: { kernel: "k", osImage: "o", runtime: null } }));
    expect(silent.node.status?.nodeInfo?.containerRuntimeVersion).toBe("Unknown");
    const failing = setVersion(nodeOf(), withFigures({ version: { problem: "gone" } }));
    expect(failing).toEqual({ node: nodeOf(), problem: "error getting version info: gone" });
  });
});

describe("images", () => {
  const image = (name: string, sizeBytes: number) => ({ digests: [`${name}@1`], tags: [`${name}:1`], sizeBytes });

  it("are the 50 largest in order, digests before tags, at most five names", () => {
    const many = { digests: ["d1", "d2", "d3"], tags: ["t1", "t2", "t3"], sizeBytes: 500 };
    const small = Array.from({ length: 60 }, (_, index) => image(`i${index}`, index));
    const input = withFigures({ images: [...small, image("big", 900), many] });
    const images = setImages(nodeOf(), input).node.status?.images as readonly { readonly sizeBytes: number }[];
    expect(images.map(({ sizeBytes }) => sizeBytes).slice(2)).toEqual(Array.from({ length: 48 }, (_, at) => 59 - at));
    expect(images.slice(0, 2)).toEqual([
      { names: ["big@1", "big:1"], sizeBytes: 900 },
      { names: ["d1", "d2", "d3", "t1", "t2"], sizeBytes: 500 },
    ]);
  });
});

describe("scheduling", () => {
  it.each([
    [false, false, []],
    [true, true, []],
    [true, false, ["NodeNotSchedulable"]],
    [false, true, ["NodeSchedulable"]],
  ])("with unschedulable %s and %s reported before emits %j", (unschedulable, reported, reasons) => {
    const input = inputOf({ reported: { unschedulable: reported, reboot: false } });
    const { events = [] } = reportSchedulable(nodeOf({ spec: { unschedulable } }), input);
    expect(events.map(({ reason }) => reason)).toEqual(reasons);
  });
});

describe("all setters", () => {
  it("run in order, Ready after capacity; none stops the others (R9.18)", () => {
    const stats: MachineStats = { ...STATS, version: { problem: "v" } };
    const settings = settingsOf({ nodeIps: ["::1"] });
    const { node, problems } = computeStatus(nodeOf(), inputOf({ stats, settings }));
    expect(problems).toEqual(["nodeIP ::1: can't be loopback address", "error getting version info: v"]);
    expect(node.status?.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      "MemoryPressure=False",
      "DiskPressure=False",
      "PIDPressure=False",
      "Ready=True",
    ]);
  });

  it("give the same status for the same node and measurements", () => {
    const once = computeStatus(nodeOf(), inputOf()).node;
    const twice = computeStatus(once, inputOf());
    expect(twice).toEqual({ node: once, events: [], problems: [] });
  });
});
