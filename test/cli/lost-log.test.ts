/** `vigil run` when its log cannot be written, and when its terminal hangs up. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubeconfigOf } from "../../services/cli/apiserver/served-api.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { type HttpFront, listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { freePort } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";

const FULL = "/dev/full";
const TERMINAL = "/usr/bin/script";
const MAIN = join(import.meta.dirname, "../../services/vigil.js");
const FOLDER = mkdtempSync(join(tmpdir(), "vigil-log-"));
const KUBECONFIG = join(FOLDER, "kubeconfig");

let front: HttpFront;
beforeAll(async () => {
  front = await listen(new ApiServer({ clock: realClock(), random: systemRandom }), { port: 0 });
  writeFileSync(KUBECONFIG, kubeconfigOf("c", front.url));
});
afterAll(async () => {
  await front.close();
  rmSync(FOLDER, { recursive: true });
});

const flags = (port: number) => [
  "run",
  `--kubeconfig=${KUBECONFIG}`,
  "--log-format=json",
  `--listen=127.0.0.1:${port}`,
];

async function ready(port: number): Promise<void> {
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok === true;
  await until("it is ready", isReady, { withinMs: 60_000 });
}

async function droppedLines(port: number): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^vigil_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1]);
}

describe("vigil run counts lines, and ends with 0", () => {
  test.runIf(existsSync(FULL))("while its log goes to a full device", async () => {
    const port = await freePort();
    const vigil = new VigilProcess(flags(port), { stderr: openSync(FULL, "w") });
    await ready(port);
    expect(await droppedLines(port)).toBeGreaterThan(0);
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
  });

  test("when its log has no reader any more", async () => {
    const port = await freePort();
    const vigil = new VigilProcess(flags(port));
    vigil.closeErr();
    await ready(port);
    expect(await droppedLines(port)).toBeGreaterThan(0);
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
  });
});

describe("a hangup", () => {
  test("of a process without a terminal is ignored", async () => {
    const port = await freePort();
    const vigil = new VigilProcess(flags(port));
    await ready(port);
    vigil.signal("SIGHUP");
    vigil.signal("SIGHUP");
    await ready(port);
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
  });

  test.runIf(existsSync(TERMINAL))("of its terminal ends it as SIGTERM does", async () => {
    const port = await freePort();
    const pidFile = join(FOLDER, "pid");
    const command = `echo $$ > ${pidFile}; exec ${process.execPath} ${MAIN} ${flags(port).join(" ")}`;
    const terminal = spawn(TERMINAL, ["-qefc", command, "/dev/null"], { stdio: ["ignore", "pipe", "ignore"] });
    let shown = "";
    terminal.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      shown += chunk;
    });
    const ended = once(terminal, "close");
    await ready(port);
    process.kill(Number(readFileSync(pidFile, "utf8")), "SIGHUP");
    expect(await ended).toEqual([0, null]);
    expect(shown).toContain("stopping");
  });
});
