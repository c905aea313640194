/** Receivers of one process share a subscription at the server. Only the number of messages on the socket shows it. */
import { expect, test } from "vitest";
import { hear, link, say, serve } from "../support/nats-links.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { until } from "../support/until.ts";

describeWithEachNats("receivers of one pattern", () => {
  test("get the same bytes, and each of them gets a message once", async () => {
    const { transport } = await link((await serve()).url);
    const payloads: Uint8Array[] = [];
    for (let receiver = 0; receiver < 3; receiver++) transport.subscribe("a.*", (payload) => payloads.push(payload));
    const other = hear(transport, "a.1");
    say(transport, "a.1", "one");
    await until("the other pattern received it too", () => other.length === 1);
    await transport.flush();
    expect(payloads).toHaveLength(3);
    expect(new Set(payloads).size).toBe(1);
  });

  test("come and go one by one, and those that are there receive", async () => {
    const { transport } = await link((await serve()).url);
    const heard: string[] = [];
    const listen = (name: string) =>
      transport.subscribe("a.*", (payload) => heard.push(`${name} ${new TextDecoder().decode(payload)}`));
    const [first, second] = [listen("first"), listen("second")];
    first();
    first();
    say(transport, "a.1", "one");
    await until("the remaining one received", () => heard.length === 1);
    second();
    say(transport, "a.1", "no receiver");
    await transport.flush();
    listen("third");
    say(transport, "a.1", "two");
    await until("the new one received", () => heard.length === 2);
    expect(heard).toEqual(["second one", "third two"]);
  });

  test("do not lose a message to one of them that throws", async () => {
    const { transport } = await link((await serve()).url);
    const heard: string[] = [];
    transport.subscribe("a.*", () => {
      throw new Error("a receiver's fault");
    });
    transport.subscribe("a.*", () => heard.push("heard"));
    say(transport, "a.1", "one");
    await until("the other heard", () => heard.length === 1);
    expect(heard).toEqual(["heard"]);
  });
});
