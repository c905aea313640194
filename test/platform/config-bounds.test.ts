/** Every accepted flag leads to messages that readers accept: beyond a limit of the protocol they drop them all. */
import { expect, test } from "vitest";
import type { BodyOf, MessageType } from "../../protocols/messages.ts";
import { decode, encode, MalformedMessage } from "../../protocols/wire.ts";
import { drainAhead } from "../../services/node/eviction.policy.ts";
import { type Config, parseRun } from "../../services/platform/config/config.ts";
import { ConfigProblem } from "../../services/platform/config/value.ts";
import { taintsPerSecondOf } from "../../services/zone/zone.policy.ts";
import { judgedNode } from "../support/observed-objects.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

/** The problem that a reader has with a message; null for none. */
function problemWith<T extends MessageType>(type: T, body: BodyOf<T>, source: string): string | null {
  const message = decode(encode({ type, id: `${source}:1:${type}.0:1`, source, at: NOW, cause: null, body } as never));
  return message instanceof MalformedMessage ? message.problem : null;
}

function acceptedOrRefused(flags: string[], problem: (config: Config) => string | null): string | null {
  let config: Config;
  try {
    config = parseRun(flags, () => "").config;
  } catch (error) {
    if (error instanceof ConfigProblem) return null;
    throw error;
  }
  return problem(config);
}

test.each(["1e9", "2e9"])("--node-eviction-rate=%s: a zone can be announced", (rate) => {
  const problem = acceptedOrRefused([`--node-eviction-rate=${rate}`], ({ profile }) => {
    const taintsPerSecond = taintsPerSecondOf("Normal", 1, profile);
    const count = { size: 1, notReady: 0, queueLength: 0, tokens: 1 };
    const body = { zone: "", state: "Normal" as const, since: 1, ...count, taintsPerSecond, halted: false };
    return problemWith("judged.zone", body, "zone@a");
  });
  expect(problem).toBeNull();
});

test.each(["2562047h", "99999999h"])("--pod-eviction-timeout=%s: a node that is down can be judged", (timeout) => {
  const flags = ["--eviction-mode=direct", `--pod-eviction-timeout=${timeout}`];
  const problem = acceptedOrRefused(flags, ({ profile }) => {
    const ahead = drainAhead({}, { fromMs: profile.podEvictionTimeoutMs, hasPods: true }, { nowMs: 0, wallMs: NOW });
    return problemWith("judged.node", judgedNode("n", ahead), "node@a");
  });
  expect(problem).toBeNull();
});

test.each([63, 240, 250])("--member of %i characters: its messages are accepted", (length) => {
  const problem = acceptedOrRefused([`--member=${"m".repeat(length)}`], ({ process: { member } }) =>
    problemWith("asked.resync", { shard: 0, reason: "" }, `taint-manager@${member}`),
  );
  expect(problem).toBeNull();
});
