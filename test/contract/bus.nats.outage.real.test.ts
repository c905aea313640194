/** The NATS transport against servers that misbehave (frozen, killed, full, refusing), and how it closes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { nkeys } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import type { Clock, Transport } from "../../protocols/ports.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { atEnd, clock, echoes, folder, hear, link, say, serve } from "../support/nats-links.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { startNatsCluster } from "../support/nats-server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

const identity = { cluster: "c", member: "m", clock, log: silentLog, metrics: createMetrics() };
const busOver = (transport: Transport, service: string) =>
  typedBus({ ...identity, transport, service, mailboxMessagesMax: 100_000 });

describeWithEachNats("a server that", () => {
  test("is frozen is left after two missed pings, and reconnected when it thaws", async () => {
    const server = await serve();
    const { transport, log } = await link(server.url, { pingIntervalMs: 100 });
    server.pause();
    await until("the frozen server is noticed", () => !transport.connected());
    expect(log.lines.map(({ message }) => message)).toContain("NATS server no longer answers pings");
    server.resume();
    await until("the connection is back", () => transport.connected());
    await echoes(transport);
  });

  test("is away is reported once, however often the connection is tried", async () => {
    const server = await serve();
    const { transport, log } = await link(server.url);
    const before = log.lines.length;
    await server.kill();
    await until("the connection is lost", () => !transport.connected());
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await server.start();
    await until("the connection is back", () => transport.connected());
    const lines = log.lines.slice(before).map(({ message }) => message);
    expect(lines).toEqual(["NATS connection is lost", "NATS connection is back"]);
  });

  test("removes our user is reported in one line; reconnecting needs no restart", async () => {
    const users = (name: string) => `authorization { users: [{ user: ${name}, password: p }] }`;
    const server = await serve({ config: users("u") });
    const { transport, log } = await link(server.url, { user: "u", password: "p" });
    server.reload(users("other"));
    await until("we are disconnected", () => !transport.connected());
    await until("the refusal is logged", () =>
      log.lines.some(({ message }) => /Authorization Violation/i.test(message)),
    );
    await until("we were refused twice", () => server.log().split("authentication error").length > 2);
    server.reload(users("u"));
    await until("we are accepted again", () => transport.connected());
    await echoes(transport);
  });

  test("requires another key gets the key that is in the file by then", async () => {
    const [old, renewed] = [nkeys.createUser(), nkeys.createUser()];
    const users = (pair: typeof old) => `authorization { users: [{ nkey: ${pair.getPublicKey()} }] }`;
    const nkeyFile = join(folder(), "user.nk");
    writeFileSync(nkeyFile, old.getSeed());
    const server = await serve({ config: users(old) });
    const { transport } = await link(server.url, { nkeyFile });
    await server.kill();
    await until("the connection is lost", () => !transport.connected());
    writeFileSync(nkeyFile, "half a fi");
    await server.start(users(renewed));
    await until("the old key was refused", () => server.log().includes("authentication error"));
    writeFileSync(nkeyFile, renewed.getSeed());
    await until("the new key is accepted", () => transport.connected());
    await echoes(transport);
  });

  test("grants a permission later is asked for it again, and the subscription works", async () => {
    const rights = (subject: string) => `permissions { publish: ">", subscribe { allow: "${subject}" } }`;
    const users = (subject: string) => `authorization { users: [{ user: u, password: p, ${rights(subject)} }] }`;
    const server = await serve({ config: users("b") });
    // On this clock the half minute until the next try is a tenth of a second.
    const hasty: Clock = { ...clock, after: (delayMs, fire) => clock.after(delayMs / 300, fire) };
    const { transport, log } = await link(server.url, { user: "u", password: "p", clock: hasty });
    const heard = hear(transport, "a");
    await until("it is forbidden", () => log.lines.some(({ message }) => message.includes("forbids")));
    server.reload(users("a"));
    await until("it is heard", () => {
      if (transport.connected()) say(transport, "a", "x");
      return heard.length > 0;
    });
  });

  test("drops us as a slow consumer leaves a gap that is reported to the reader", async () => {
    const server = await serve({ config: 'max_pending: 1MB\nwrite_deadline: "200ms"' });
    const proxy = await startTcpProxy(server.port);
    atEnd(() => proxy.close());
    const [slow, quick] = [await link(`nats://127.0.0.1:${proxy.port}`), await link(server.url)];
    const [reader, observer] = [busOver(slow.transport, "node"), busOver(quick.transport, "observer")];
    const gaps: string[] = [];
    let heard = 0;
    reader.subscribe("observed.gone", "all", () => heard++);
    reader.onGap((type) => gaps.push(type));
    const tell = (size: number) => observer.publish("observed.gone", { node: "n", uid: "x".repeat(size) }, null);
    await slow.transport.flush();
    tell(1);
    await until("the first is received", () => heard === 1);
    proxy.stall();
    for (let index = 0; index < 1000; index++) tell(50_000);
    await quick.transport.flush();
    await until("the server drops the slow consumer", () => server.log().includes("Slow Consumer"));
    proxy.flow();
    await until("the slow one is back and reports the gap", () => {
      tell(1);
      return gaps.length > 0;
    });
    expect(gaps[0]).toBe("observed.gone");
    expect(heard).toBeLessThan(1001);
  });

  test("takes smaller messages only does not fail the sender of a larger one", async () => {
    const { transport, log } = await link((await serve({ config: "max_payload: 1KB" })).url);
    transport.publish("a", new Uint8Array(2000));
    expect(log.lines.map(({ message }) => message).at(-1)).toMatch(/^NATS reports an error: .*max_payload/);
    await echoes(transport);
  });

  test("feeds a receiver that throws continues to be read", async () => {
    const { transport, log } = await link((await serve()).url);
    transport.subscribe("echo", () => {
      throw new Error("cannot");
    });
    await echoes(transport);
    expect(log.lines.map(({ message }) => message)).toContain("a receiver of NATS messages failed");
  });
});

describeWithEachNats("a cluster of three", () => {
  test("loses our node, and the messages flow over the others", async () => {
    const servers = await startNatsCluster(3);
    atEnd(() => Promise.all(servers.map((server) => server.stop())));
    const [first, second] = servers;
    if (first === undefined || second === undefined) throw new Error("no cluster");
    const [sender, reader] = [await link(first.url), await link(second.url)];
    const heard = hear(reader.transport, "a");
    const crosses = (text: string) => () => {
      say(sender.transport, "a", text);
      return heard.includes(text);
    };
    await until("a message crosses the cluster", crosses("before"));
    // Another node may accept us before any poll, so every change of the connection is recorded.
    const reported: boolean[] = [];
    sender.transport.onConnection((connected) => reported.push(connected));
    await first.kill();
    await until(
      "the loss is reported and another node accepts us",
      () => reported.includes(false) && reported.at(-1) === true,
    );
    await until("a message crosses the remaining nodes", crosses("after"));
    expect(sender.transport.connection.getServer()).not.toBe(`127.0.0.1:${first.port}`);
  });
});

describeWithEachNats("closing", () => {
  test("sends everything that was published before", async () => {
    const { url } = await serve();
    const [sender, reader] = [await link(url), await link(url)];
    const heard = hear(reader.transport, "a");
    await reader.transport.flush();
    for (let index = 0; index < 10_000; index++) say(sender.transport, "a", String(index));
    await sender.transport.close();
    await until("all have arrived", () => heard.length === 10_000);
    expect(sender.transport.connected()).toBe(false);
    expect(await sender.transport.closed).toBeUndefined();
  });

  test("ends in time when the server does not answer; later messages are dropped", async () => {
    const server = await serve();
    const { transport } = await link(server.url);
    server.pause();
    atEnd(() => server.resume());
    const startMs = clock.monotonicMs();
    await transport.close();
    expect(clock.monotonicMs() - startMs).toBeLessThan(4000);
    say(transport, "a", "x");
    transport.subscribe("a", () => {})();
    await transport.close();
  });
});
