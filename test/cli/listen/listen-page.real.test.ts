/** docs/listen.md, line by line: each command is tried on a running fleet while a node of it fails. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { matches } from "../../../protocols/subjects.ts";
import { decode, MalformedMessage } from "../../../protocols/wire.ts";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import { describeWithNats } from "../../support/nats-programs.ts";
import { until } from "../../support/until.ts";
import { type FakeHost, fakeHost } from "../fake-host.ts";
import { type ListenedFleet, startListenedFleet } from "./listened-fleet.ts";

const ROOT = join(import.meta.dirname, "../../..");
const PAGE = readFileSync(join(ROOT, "docs/listen.md"), "utf8");
/** Every block of code, without its fence. */
const BLOCKS = [...PAGE.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = "", code = ""]) => ({
  language,
  code,
}));
const LINES = BLOCKS.filter(({ language }) => language === "").flatMap(({ code }) => code.trimEnd().split("\n"));
const found = (pattern: RegExp) =>
  [...PAGE.matchAll(pattern)].map(([, first = "", second = ""]) => [first, second] as const);

const SUBJECTS = found(/nats sub (?:--raw )?'([^']+)'/g).map(([subject]) => subject);
const REQUESTS = found(/^nats req (\S+) '(.*)'$/gm);
const MICRO = found(/^nats micro (\w+)( \w+)?$/gm);
const WATCHES = LINES.filter((line) => line.startsWith("vigil watch"));
const QUESTIONS = BLOCKS.filter(({ code }) => code.startsWith("jq ")).map(({ code }) => code);

describeWithNats("docs/listen.md", () => {
  let fleet: ListenedFleet;
  const heard: { readonly subject: string; readonly payload: string }[] = [];
  const watches: { readonly line: string; readonly host: FakeHost; readonly ended: Promise<number> }[] = [];
  let program = "";
  const messages = () => heard.map(({ payload }) => JSON.parse(payload));

  beforeAll(async () => {
    fleet = await startListenedFleet();
    const { natsUrl, inspectorKey, inspector } = fleet;
    inspector.subscribe("vigil.v1.*.>", (payload, subject) => {
      heard.push({ subject, payload: new TextDecoder().decode(payload) });
    });
    await inspector.flush();
    for (const line of WATCHES) {
      const host = { ...fakeHost(), readFile: (path: string) => readFileSync(path, "utf8") };
      const argv = [...line.split(" ").slice(1), `--nats=${natsUrl}`, `--nats-nkey=${inspectorKey}`];
      watches.push({ line, host, ended: runCommandLine(argv, host) });
    }
    const errors = () => watches.map(({ host }) => host.err()).join("");
    const listening = () => watches.every(({ host }) => host.err().includes("listening to --cluster=default"));
    await until(() => `every watch listens; they say ${errors()}`, listening);
    const env = { PATH: process.env.PATH, NATS_URL: natsUrl, NATS_NKEY: inspectorKey };
    const listener = spawn(process.execPath, ["--input-type=module-typescript", "-"], { cwd: ROOT, env });
    listener.stdout.setEncoding("utf8").on("data", (text: string) => {
      program += text;
    });
    listener.stdin.end(BLOCKS.find(({ language }) => language === "ts")?.code);
    await fleet.run();
    const isKnown = (node: string) => messages().some(({ type, body }) => type === "judged.node" && body.node === node);
    await until("worker-7 is judged", () => isKnown("worker-7"));
    fleet.silence();
    const isDeleted = () => messages().some(({ type, body }) => type === "done.write" && body.ask === "asked.eviction");
    await until("its pod is deleted", isDeleted);
    await until("the program prints its verdict", () => program.includes("worker-7 unknown"));
    await until(
      () => `every watch has said something; they say ${errors()}`,
      () => watches.every(({ host }) => host.out() !== ""),
    );
    listener.kill();
    await once(listener, "close");
    writeFileSync(join(fleet.folder, "messages.jsonl"), heard.map(({ payload }) => `${payload}\n`).join(""));
  });
  afterAll(async () => {
    for (const { host } of watches) host.stop();
    expect(await Promise.all(watches.map(({ ended }) => ended))).toEqual(watches.map(() => 0));
    await fleet.stop();
  });

  test("every line of it is tried here", () => {
    const tried = /^(export NATS_URL|vigil watch|nats (sub|req|micro) |jq | {2}(map|\||\[|\{))/;
    expect(LINES.filter((line) => !tried.test(line))).toEqual([]);
    expect([SUBJECTS, REQUESTS, MICRO, WATCHES, QUESTIONS].map(({ length }) => length)).toEqual([12, 9, 3, 4, 2]);
  });

  test.each(SUBJECTS)("%s receives messages of Vigil, and the inspector may listen to it", async (subject) => {
    const own = heard.filter((message) => matches(subject, message.subject));
    expect(own.length).toBeGreaterThan(0);
    const bytes = own.map(({ payload }) => decode(new TextEncoder().encode(payload)));
    expect(bytes.filter((message) => message instanceof MalformedMessage)).toEqual([]);
    const subscription = fleet.inspector.connection.subscribe(subject);
    await fleet.inspector.flush();
    expect(subscription.isClosed()).toBe(false);
    subscription.unsubscribe();
  });

  test.each(REQUESTS)("%s answers %s", async (subject, payload) => {
    const answer = await fleet.inspector.connection.request(subject, payload, { timeout: 5000 });
    expect(answer.headers).toBeUndefined();
    const document = answer.json<Record<string, unknown[]>>();
    const [rows] = ["zones", "nodes", "sentences", "pods", "policies"].flatMap((field) =>
      field in document ? [document[field]] : [],
    );
    // Its pods have gone by now.
    expect(rows?.length).toBeGreaterThanOrEqual(subject.endsWith(".pods") ? 0 : 1);
  });

  test.each(MICRO)("nats micro %s finds Vigil", async (verb, name) => {
    const subject = `$SRV.${{ ls: "PING" }[verb] ?? verb.toUpperCase()}${name.replace(" ", ".")}`;
    const answer = await fleet.inspector.connection.request(subject, "", { timeout: 5000 });
    expect(answer.json()).toMatchObject({ name: "vigil", id: "vigil-0", metadata: { cluster: "default" } });
  });

  describe("vigil watch", () => {
    const outOf = (words: string) => watches.find(({ line }) => line === `vigil watch${words}`)?.host.out() ?? "";
    const DATED = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}(node|zone|pod) /;

    test("prints dated sentences", () => {
      const lines = outOf("").trimEnd().split("\n");
      expect(lines.filter((line) => !DATED.test(line))).toEqual([]);
      expect(outOf("")).toContain("  node worker-7 judged unknown: ");
    });

    test("prints the wanted topics alone", () => {
      expect(outOf(" nodes zones")).toContain("zone eu-west-1/eu-west-1b ");
      expect(outOf(" nodes zones")).not.toContain("pod ");
    });

    test("prints one node and its pods alone", () => {
      const lines = outOf(" --node=worker-7").trimEnd().split("\n");
      expect(lines.filter((line) => !/ (node worker-7|pod shop\/cart-0) /.test(line))).toEqual([]);
      expect(lines.length).toBeGreaterThan(3);
    });

    test("prints JSON for jq", () => {
      const lines = outOf(" writes -o json").trimEnd().split("\n");
      const types = lines.map((line) => JSON.parse(line).type);
      expect(types).toEqual(expect.arrayContaining(["asked.condition", "asked.taint", "asked.eviction", "done.write"]));
    });
  });

  test.each(QUESTIONS)("%s answers", (question) => {
    const out = execFileSync("sh", ["-c", question], { cwd: fleet.folder, encoding: "utf8" });
    const types = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).type);
    if (question.includes("recurse")) {
      expect(types.slice(-2)).toEqual(["judged.node", "asked.taint"]);
      expect(types[0]).toMatch(/^(observed|asked)\./);
    } else {
      expect(types).toContain("asked.taint");
    }
  });

  test("the program prints each verdict", () => {
    expect(program).toMatch(/^\d{4}-\S+Z worker-7 unknown$/m);
  });
});
