/** This machine's figures: what Linux's texts say, and what the whole reading gives on the machine the test runs on. */
import { readFileSync } from "node:fs";
import { cpus, networkInterfaces, totalmem } from "node:os";
import { describe, expect, it } from "vitest";
import { isProblem } from "../../services/agent/figures.ts";
import { hostFigures } from "../../services/agent/host.figures.ts";
import {
  defaultRouteInterface,
  hugePageSize,
  meminfoBytes,
  osImageOf,
  pidHeadroom,
} from "../../services/agent/host.parse.ts";
import { realClock } from "../../services/runtime/clock.real.ts";

describe("texts of Linux", () => {
  it("tell of memory: what is free, and file pages not used of late, can be had", () => {
    const text = "MemTotal:  1000 kB\nMemFree:  200 kB\nMemAvailable: 700 kB\nInactive(file):  50 kB\n";
    expect(meminfoBytes(text)).toEqual({ totalBytes: 1_024_000, availableBytes: 256_000 });
    expect(meminfoBytes("")).toBeNull();
  });

  it("tell of huge pages by folder", () => {
    expect(hugePageSize("hugepages-2048kB")).toEqual({ folder: "hugepages-2048kB", name: "2Mi", bytes: 2_097_152 });
    expect(hugePageSize("hugepages-1048576kB")?.name).toBe("1Gi");
    expect(hugePageSize("other")).toBeNull();
  });

  it("tell of process ids: the lower of both limits, less the tasks there are", () => {
    const loadavg = "0.11 0.09 0.23 2/345 6789\n";
    expect(pidHeadroom("32768\n", "190000\n", loadavg)).toEqual({ available: 32_423, capacity: 32_768 });
    expect(pidHeadroom("4194304", "1000", loadavg)).toEqual({ available: 655, capacity: 1000 });
    expect(pidHeadroom("", "1000", loadavg)).toEqual({ available: 655, capacity: 1000 });
    expect([pidHeadroom("", "", loadavg), pidHeadroom("1", "1", "")]).toEqual([null, null]);
  });

  it("tell of the interface with the default route", () => {
    const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
    const local = "eth1\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
    const route = "eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";
    expect(defaultRouteInterface(head + local + route)).toBe("eth0");
    expect(defaultRouteInterface(head + local)).toBeNull();
  });

  it("tell of the operating system", () => {
    expect(osImageOf('NAME="x"\nPRETTY_NAME="Debian GNU/Linux 12"\n')).toBe("Debian GNU/Linux 12");
    expect(osImageOf("PRETTY_NAME=Alpine\n")).toBe("Alpine");
    expect(osImageOf("")).toBeNull();
  });
});

describe("this machine", () => {
  const source = hostFigures({ clock: realClock(), resolve: null, storagePath: "/", runtime: "test://1" });

  it("is read with the capacity the operating system reports", async () => {
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

  it("has a runtime that is never unwell, because there is none", async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    source.checkRuntime(resolve);
    expect(await promise).toEqual({ runtimeProblem: null, networkProblem: null });
  });
});
