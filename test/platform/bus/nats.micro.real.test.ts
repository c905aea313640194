/** Vigil as a micro service of NATS under the deployed roles: found by discovery, and it answers an inspector. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeKeys } from "../../../deploy/nats/make-keys.ts";
import { rolesConfig } from "../../../deploy/nats/roles.ts";
import { serveMicro } from "../../../services/platform/bus/nats.micro.ts";
import { connectNats, type NatsTransport } from "../../../services/platform/bus/nats.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { ReaderTurns } from "../../../services/platform/process/reader-turns.ts";
import { describeWithEachNats } from "../../support/nats-programs.ts";
import { type NatsServer, startNatsServer } from "../../support/nats-server.ts";
import { recordingLog } from "../../support/recording-log.ts";

const SUBJECT = "vigil.v1.prod.query.echo";
const clock = realClock();

describeWithEachNats("a micro service", () => {
  const keys = mkdtempSync(join(tmpdir(), "vigil-keys-"));
  const log = recordingLog();
  const open: NatsTransport[] = [];
  let server: NatsServer;
  let inspector: NatsTransport["connection"];

  const connectAs = async (role: string) => {
    const identity = { servers: [server.url], name: role, nkeyFile: join(keys, `${role}.nk`) };
    const link = await connectNats({ ...identity, clock, log, metrics: createMetrics() });
    open.push(link);
    return link;
  };
  const ask = async (subject: string, payload = "") => {
    const answer = await inspector.request(subject, payload, { timeout: 5000 });
    const [code, error] = ["Nats-Service-Error-Code", "Nats-Service-Error"].map((name) => answer.headers?.get(name));
    return { text: answer.string(), code, error };
  };

  beforeAll(async () => {
    makeKeys(keys);
    const files = { "keys.conf": readFileSync(join(keys, "keys.conf"), "utf8"), "roles.conf": rolesConfig() };
    server = await startNatsServer({ config: 'max_payload: 64KB\ninclude "roles.conf"', files, jetstream: true });
    for (const member of ["a", "b"]) {
      const link = await connectAs("ledger");
      const endpoint = {
        name: "echo",
        subject: SUBJECT,
        metadata: { purpose: "repeats" },
        answer: (payload: string) => {
          if (payload === "throw") throw new Error("secret detail");
          if (payload === "long") return { payload: "x".repeat(70_000) };
          return payload === "bad" ? { code: 400, problem: "bad\nline" } : { payload: `${payload}!` };
        },
      };
      const identity = { name: "vigil", id: member, version: "1.2.3", description: "a test", metadata: { member } };
      serveMicro(
        link.connection,
        { ...identity, endpoints: [endpoint] },
        { clock, log, turns: new ReaderTurns(clock), overwhelmed: () => {} },
      );
      await link.flush();
    }
    inspector = (await connectAs("inspector")).connection;
  });
  afterAll(async () => {
    for (const link of open) await link.close();
    await server.stop();
    rmSync(keys, { recursive: true });
  });

  test("one instance answers a request", async () => {
    expect(await ask(SUBJECT, "hello")).toMatchObject({ text: "hello!" });
  });

  test.each([
    ["bad", "400", "bad\\nline"],
    ["throw", "500", "the query failed; see the log of this process"],
    ["long", "413", "the answer has 70000 bytes, this NATS takes 65536: lower the limit"],
  ])("a problem (%s) is in the headers of the answer", async (payload, code, error) => {
    expect(await ask(SUBJECT, payload)).toEqual({ text: "", code, error });
  });

  describe("is found", () => {
    const discovered = async (verb: string) => {
      const answers: Record<string, unknown>[] = [];
      const all = await inspector.requestMany(`$SRV.${verb}`, "", { strategy: "count", maxMessages: 2, maxWait: 5000 });
      for await (const answer of all) answers.push(answer.json());
      return answers.sort((left, right) => String(left.id).localeCompare(String(right.id)));
    };

    test("by PING, each instance for itself", async () => {
      const instance = { type: "io.nats.micro.v1.ping_response", name: "vigil", version: "1.2.3" };
      expect(await discovered("PING")).toEqual([
        { ...instance, id: "a", metadata: { member: "a" } },
        { ...instance, id: "b", metadata: { member: "b" } },
      ]);
    });

    test("by INFO, with its endpoints", async () => {
      const [first] = await discovered("INFO");
      expect(first).toMatchObject({
        type: "io.nats.micro.v1.info_response",
        description: "a test",
        endpoints: [{ name: "echo", subject: SUBJECT, queue_group: "q", metadata: { purpose: "repeats" } }],
      });
    });

    test("by STATS, with what it has answered", async () => {
      await ask(SUBJECT, "bad");
      const stats = await discovered("STATS");
      const echo = stats.flatMap(({ endpoints }) => endpoints as Record<string, number | string>[]);
      const sum = (field: string) => echo.reduce((total, endpoint) => total + Number(endpoint[field]), 0);
      expect(sum("num_requests")).toBeGreaterThan(sum("num_errors"));
      expect(echo.map(({ last_error }) => last_error)).toContain("400:bad\nline");
      expect(stats[0]).toMatchObject({ type: "io.nats.micro.v1.stats_response", started: expect.any(String) });
    });

    test.each(["$SRV.PING.vigil", "$SRV.PING.vigil.b"])("by %s", async (subject) => {
      expect(JSON.parse((await ask(subject)).text)).toMatchObject({ name: "vigil" });
    });
  });

  test("a request cannot direct its answer to a subject of Vigil", async () => {
    const heard: string[] = [];
    const listener = await connectAs("cluster");
    listener.subscribe("vigil.v1.*.asked.eviction.>", (_payload, subject) => heard.push(subject));
    await listener.flush();
    inspector.publish(SUBJECT, "x", { reply: "vigil.v1.prod.asked.eviction.7.shop.cart-0" });
    await ask(SUBJECT, "after");
    await ask(SUBJECT, "after");
    await listener.flush();
    expect(heard).toEqual([]);
    expect(log.lines.filter(({ level }) => level === "warn")).toEqual([]);
  });
});
