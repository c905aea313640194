/** Measurements of a machine: Linux's texts parsed, and the machine that runs the test. */
import { readFileSync } from "node:fs";
import { cpus, networkInterfaces, totalmem } from "node:os";
import { describe, expect, it } from "vitest";
import {
  defaultRouteAddress,
  hugePageSize,
  meminfoBytes,
  osImageOf,
  pidHeadroom,
} from "../../services/agent/host.parse.ts";
import { hostStats } from "../../services/agent/host.stats.ts";
import { isProblem } from "../../services/agent/machine-stats.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";

describe("texts of Linux", () => {
  it("give memory: available is free memory and inactive file pages", () => {
    const text = "MemTotal:  1000 kB\nMemFree:  200 kB\nMemAvailable: 700 kB\nInactive(file):  50 kB\n";
    expect(meminfoBytes(text)).toEqual({ totalBytes: 1_024_000, availableBytes: 256_000 });
    expect(meminfoBytes("")).toBeNull();
  });

  it("give huge pages by folder", () => {
    expect(hugePageSize("hugepages-2048kB")).toEqual({ folder: "hugepages-2048kB", name: "2Mi", bytes: 2_097_152 });
    expect(hugePageSize("hugepages-1048576kB")?.name).toBe("1Gi");
    expect(hugePageSize("other")).toBeNull();
  });

  it("give process ids: the lower of both limits, less the tasks", () => {
    const loadavg = "0.11 0.09 0.23 2/345 6789\n";
    expect(pidHeadroom("32768\n", "190000\n", loadavg)).toEqual({ available: 32_423, capacity: 32_768 });
    expect(pidHeadroom("4194304", "1000", loadavg)).toEqual({ available: 655, capacity: 1000 });
    expect(pidHeadroom("", "1000", loadavg)).toEqual({ available: 655, capacity: 1000 });
    expect([pidHeadroom("", "", loadavg), pidHeadroom("1", "1", "")]).toEqual([null, null]);
  });

  describe("about routes", () => {
    const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
    const local = "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";
    const ipv4 = "eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";
    const zeros = "0".repeat(32);
    const ipv6Route = (name: string) =>
      `${zeros} 00 ${zeros} 00 fd000000000000000000000000000001 00000400 00000003 00000000 00000003 ${name}\n`;
    const refusing = ipv6Route("lo");
    const bridge = { name: "docker0", address: "172.17.0.1", family: "IPv4" };
    const link = { name: "eth0", address: "fe80::fc:ff:fe00:1", family: "IPv6" };
    const selfGiven = { name: "eth0", address: "169.254.7.7", family: "IPv4" };
    const ipv6 = { name: "eth0", address: "fd00::2", family: "IPv6" };
    const wide = { name: "eth0", address: "192.0.2.2", family: "IPv4" };

    it.each([
      ["both families", [bridge, link, ipv6, wide], head + local + ipv4, ipv6Route("eth0"), "192.0.2.2"],
      ["IPv6 alone", [bridge, link, ipv6], head + local, refusing + ipv6Route("eth0"), "fd00::2"],
      ["IPv6 beside a link-local IPv4 address", [selfGiven, link, ipv6], head + ipv4, "", "fd00::2"],
      ["neither, on a machine without /proc", [link, ipv6, wide], "", "", "192.0.2.2"],
      ["an interface with a link-local address only", [link], "", ipv6Route("eth0"), null],
      ["an interface without addresses", [bridge], "", ipv6Route("eth0"), null],
    ])("give the address of the default route by %s", (_, addresses, routes, ipv6Routes, address) => {
      expect(defaultRouteAddress(addresses, routes, ipv6Routes)).toBe(address);
    });
  });

  it("give the operating system", () => {
    expect(osImageOf('NAME="x"\nPRETTY_NAME="Debian GNU/Linux 12"\n')).toBe("Debian GNU/Linux 12");
    expect(osImageOf("PRETTY_NAME=Alpine\n")).toBe("Alpine");
    expect(osImageOf("")).toBeNull();
  });
});

describe("this machine", () => {
  const source = hostStats({ clock: realClock(), resolve: null, storagePath: "/", runtime: "test://1" });

  it("is measured with the capacity that the operating system reports", async () => {
    const { promise, resolve } = Promise.withResolvers<Parameters<Parameters<typeof source.read>[0]>[0]>();
    source.read(resolve);
    const { machine, headroom, addresses, version } = await promise;
    if (isProblem(machine) || isProblem(version)) throw new Error("this machine cannot be read");
    expect(machine.cores).toBe(cpus().length);
    expect(machine.memoryBytes).toBe(totalmem());
    expect(machine.bootId).toBe(readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
    expect(version.kernel).toBe(readFileSync("/proc/sys/kernel/osrelease", "utf8").trim());
    expect(headroom["nodefs.available"]?.capacity).toBe(machine.ephemeralStorageBytes);
    expect(headroom["memory.available"]?.available).toBeLessThan(machine.memoryBytes);
    const own = Object.values(networkInterfaces()).flatMap((entries = []) => entries.map(({ address }) => address));
    for (const address of addresses.local) expect(own).toContain(address);
  });

  it("has no problem with its runtime, because there is none", async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    source.checkRuntime(resolve);
    expect(await promise).toEqual({ runtimeProblem: null, networkProblem: null });
  });
});
