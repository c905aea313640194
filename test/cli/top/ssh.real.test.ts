/** `vigil top` over ssh: a server and a key of this test's own, and a terminal of tmux around the client. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeUnless } from "../../support/describe-unless.ts";
import { ServerProcess } from "../../support/server-process.ts";
import { until } from "../../support/until.ts";
import { FakeConsole } from "./fake-console.ts";
import { TMUX_MISSING, Tmux } from "./tmux.ts";

const VIGIL = join(import.meta.dirname, "../../../services/vigil.js");
const SSHD = "/usr/sbin/sshd";
const SSHD_MISSING = existsSync(SSHD) ? null : "sshd not found: apt-get install openssh-server";
/** The folder in which sshd drops its rights, if root starts it. A machine that never ran sshd lacks it. */
const SSHD_EMPTY = "/run/sshd";

describeUnless(TMUX_MISSING ?? SSHD_MISSING, "vigil top over ssh", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-ssh-"));
  const console = new FakeConsole();
  const terminal = new Tmux("ssh");
  let sshd: ServerProcess;

  beforeAll(async () => {
    const port = await freePort();
    sshd = new ServerProcess(SSHD, ["-D", "-e", "-f", serverFiles(folder, port)]);
    sshd.start();
    await until(
      () => `sshd listens; it says ${sshd.log()}`,
      () => sshd.log().includes(`Server listening on 127.0.0.1 port ${port}`),
    );
    const remote = `${process.execPath} ${VIGIL} top --server=${await console.start()}`;
    // No settings of the user who runs this test, and nothing added to their known hosts.
    const options = [
      "StrictHostKeyChecking=no",
      "UserKnownHostsFile=/dev/null",
      "IdentitiesOnly=yes",
      "LogLevel=ERROR",
    ];
    const ssh = ["ssh", "-F /dev/null", "-tt", `-p ${port}`, `-i ${join(folder, "client")}`];
    const to = `${userInfo().username}@127.0.0.1`;
    const command = [...ssh, ...options.map((option) => `-o ${option}`), to, `'${remote}'`].join(" ");
    const script = join(folder, "session.sh");
    writeFileSync(script, [`was=$(stty -g)`, command, `echo "ended $?"`, SETTINGS_KEPT, ""].join("\n"));
    terminal.open(100, 20);
    terminal.press(`PS1='$ '; clear; echo before; . ${script}`, "Enter");
  });
  afterAll(async () => {
    terminal.close();
    console.stop();
    await sshd.end("SIGTERM");
    rmSync(folder, { recursive: true });
  });

  test("shows the fleet and follows a resize", async () => {
    await terminal.shows("> worker-7");
    expect(terminal.screen()[0]).toBe("Vigil 0.1.0 · cluster prod");
    expect(terminal.screen()[19]).toMatch(/^q quit/);
    terminal.resize(50, 12);
    await until("the last line moves up", () => terminal.screen()[11]?.startsWith("q quit") === true);
    expect(terminal.screen().filter((line) => line.length > 50)).toEqual([]);
    terminal.resize(120, 30);
    await until("the last line moves down", () => terminal.screen()[29]?.startsWith("q quit") === true);
  });

  test("ends at q, and gives the terminal back as it was", async () => {
    terminal.press("q");
    await terminal.shows("ended 0");
    await terminal.shows("the terminal is as before");
    expect(terminal.screen()).toContain("before");
    expect(terminal.screen().join("\n")).not.toContain("q quit");
  });
});

const SETTINGS_KEPT =
  '[ "$(stty -g)" = "$was" ] && echo "the terminal is as before" || echo "the terminal has changed"';

/** Makes the keys and the settings of a server for this user alone; returns the path of the settings. */
function serverFiles(folder: string, port: number): string {
  for (const key of ["host", "client"])
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", key, "-f", join(folder, key)]);
  writeFileSync(join(folder, "authorized"), readFileSync(join(folder, "client.pub")));
  if (userInfo().uid === 0) mkdirSync(SSHD_EMPTY, { recursive: true, mode: 0o755 });
  const settings = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${join(folder, "host")}`,
    `AuthorizedKeysFile ${join(folder, "authorized")}`,
    `PidFile ${join(folder, "pid")}`,
    "AuthenticationMethods publickey",
    "PermitRootLogin prohibit-password",
    // The folder for temporary files is writable for everybody.
    "StrictModes no",
    "UsePAM no",
    "",
  ];
  const path = join(folder, "settings");
  writeFileSync(path, settings.join("\n"));
  return path;
}

/** A port that was free a moment ago: sshd cannot let the system choose one. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0));
    });
  });
}
