/** The links of a member: broken, whole again, and dead. */
import { describe, expect, test } from "vitest";
import type { HttpExchange, Wire } from "../../../protocols/ports.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { BreakableWire, MortalTransport } from "../../../services/sandbox/playground/links.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";

function wired() {
  const clock = new VirtualClock();
  const heard: string[] = [];
  const reached: HttpExchange[] = [];
  const inner: Wire = {
    send: (_request, exchange) => {
      reached.push(exchange);
      return { abort: () => heard.push("aborted") };
    },
  };
  const wire = new BreakableWire(inner, clock);
  const send = () =>
    wire.send(
      { method: "GET", path: "/api", headers: {}, body: null },
      {
        response: (status) => heard.push(String(status)),
        data: (chunk) => heard.push(Buffer.from(chunk).toString()),
        end: () => heard.push("end"),
        failed: ({ message, sent }) => heard.push(`${message}, ${sent ? "sent" : "not sent"}`),
      },
    );
  return { clock, heard, reached, wire, send };
}

describe("a wire that breaks", () => {
  test("passes a whole answer on", () => {
    const { heard, reached, send } = wired();
    send();
    reached[0]?.response(200, {});
    reached[0]?.data(Buffer.from("x"));
    reached[0]?.end();
    expect(heard).toEqual(["200", "x", "end"]);
  });

  test("ends what is open, and refuses the rest until restored", () => {
    const { clock, heard, reached, wire, send } = wired();
    send();
    wire.cut();
    expect(heard).toEqual(["aborted", "read ECONNRESET, sent"]);
    send();
    clock.advance(0);
    expect(heard.at(-1)).toBe("connect ECONNREFUSED, not sent");
    wire.restore();
    send();
    expect(reached).toHaveLength(2);
  });

  test("says nothing to a dead process", () => {
    const { clock, heard, wire, send } = wired();
    send();
    wire.die();
    send();
    clock.advance(1_000);
    expect(heard).toEqual(["aborted"]);
  });
});

test("a dead transport neither sends nor delivers", () => {
  const clock = new VirtualClock();
  const inner = memoryTransport(clock);
  const mortal = new MortalTransport(inner);
  const heard: string[] = [];
  inner.subscribe("from", () => heard.push("from the dead"));
  mortal.subscribe("to", () => heard.push("to the dead"));
  mortal.die();
  mortal.publish("from", Buffer.from(""));
  inner.publish("to", Buffer.from(""));
  clock.advance(1);
  expect(heard).toEqual([]);
  expect(mortal.connected()).toBe(false);
});
