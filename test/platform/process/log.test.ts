/** Log lines: their format and level, and the masking of secrets. */
import { describe, expect, test } from "vitest";
import { createLog, type LogFormat, type LogLevel, logWith } from "../../../services/platform/process/log.ts";

function logged(format: LogFormat, level: LogLevel = "debug") {
  const lines: string[] = [];
  return { lines, log: createLog({ level, format, write: (line) => lines.push(line) - lines.length }) };
}

test("a line of JSON carries level, time, message and fields", () => {
  const { log, lines } = logged("json");
  log.info("zone entered", { zone: "a", nodes: 3 });
  const { time, ...rest } = JSON.parse(lines[0] ?? "");
  expect(rest).toEqual({ level: "info", message: "zone entered", zone: "a", nodes: 3 });
  expect(Number.isNaN(Date.parse(time))).toBe(false);
});

test("a line of text reads from left to right and ends with its fields", () => {
  const { log, lines } = logged("text");
  log.warn("zone entered", { zone: "a b", nodes: 3, error: new Error("why") });
  expect(lines[0]).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} WARN {2}zone entered {2}zone="a b" nodes=3 error=\n {4}Error: why\n/,
  );
});

test("a line of text leaves out the fields that its message names", () => {
  const { log, lines } = logged("text");
  log.info("node n1 judged unknown: silent for 50 s", { node: "n1", zone: "b", pod: "n" });
  expect(lines[0]?.slice(13)).toBe("INFO  node n1 judged unknown: silent for 50 s  zone=b pod=n\n");
});

test("a line of text shows control characters and cannot be taken for two lines", () => {
  const { log, lines } = logged("text");
  const error = Object.assign(new Error("x"), { stack: "Error: x\n12:00:00.000 ERROR forged\u001b[2J" });
  log.warn("node \u001b[31mred\r\n12:00:00.000 ERROR forged", { "na\nme": "\u009b31m", text: "a\u202eb c\n", error });
  const [line = ""] = lines;
  expect(line.slice(13)).toBe(
    'WARN  node \\x1b[31mred\\r\\n12:00:00.000 ERROR forged  na\\nme=\\x9b31m text="a\\u202eb c\\n" error=\n' +
      "    Error: x\n    12:00:00.000 ERROR forged\\x1b[2J\n",
  );
});

test("lines below the level are not written", () => {
  const { log, lines } = logged("json", "warn");
  log.debug("no");
  log.info("no");
  log.warn("yes");
  log.error("yes");
  expect(lines.length).toBe(2);
});

test("a line's own field wins over one that is on every line", () => {
  const { log, lines } = logged("json");
  logWith(log, { service: "node", shard: 1 }).info("hello", { shard: 2 });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ service: "node", shard: 2 });
});

describe.each(["json", "text"] as const)("a line of %s masks a secret in", (format) => {
  test.each([
    ["a field with such a name", { password: "hunter2" }],
    ["a nested field", { options: [{ headers: { Authorization: "Basic hunter2" } }] }],
    ["a token", { bearerToken: "hunter2" }],
    ["a seed", { nkeySeed: "hunter2" }],
    ["an address", { server: "nats://vigil:hunter2@nats:4222" }],
    ["an error's message", { error: new Error("dial nats://hunter2@nats:4222 failed") }],
    ["a quoted header", { detail: "sent Authorization: Bearer hunter2" }],
  ])("in %s", (_where, fields) => {
    const { log, lines } = logged(format);
    log.error("failed at nats://u:hunter2@host", fields);
    expect(lines.length).toBe(1);
    expect(lines.join()).not.toContain("hunter2");
    expect(lines.join()).toContain("***");
  });
});

test("a field that JSON cannot hold, or a cyclic one, does not break the line", () => {
  const { log, lines } = logged("json");
  const loop: Record<string, unknown> = { big: 10n, none: undefined, when: new Date(0) };
  loop.self = loop;
  log.info("odd", { loop });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ loop: { big: "10", when: "1970-01-01T00:00:00.000Z" } });
});
