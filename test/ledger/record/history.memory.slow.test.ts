/** The memory of a history while the same nodes are written repeatedly. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { Subject } from "../../../protocols/ledger-reader.ts";
import type { AnyMessage } from "../../../protocols/messages.ts";
import { named } from "../../../services/domain/format.ts";
import { History } from "../../../services/ledger/record/history.ts";
import { doneNode } from "../ledger-world.ts";

const NODES = 100;
const ROUNDS_TO_FILL = 40;
const ROUNDS = 400;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

function usedBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test("a full history does not grow with further writes to the same nodes", () => {
  const history = new History();
  let sequence = 0;
  const write = (rounds: number): void => {
    for (let round = 0; round < rounds; round++) {
      for (let index = 0; index < NODES; index++) {
        const name = `node-${index}`;
        const id = `node-writer@m-0:1795433715000:done.write.${index % 64}:${++sequence}`;
        const body = doneNode("asked.taint", name, { resourceVersion: String(sequence) });
        const message = { v: 1, type: "done.write", id, source: "node-writer@m-0", at: sequence, cause: null, body };
        const subject: Subject = { kind: "Node", namespace: "", name };
        history.add(message as AnyMessage, subject, named`written ${String(sequence)}`);
      }
    }
  };
  write(ROUNDS_TO_FILL);
  const size = history.size;
  const before = usedBytes();
  write(ROUNDS);
  const grownBytes = usedBytes() - before;
  expect(history.size).toBe(size);
  expect(grownBytes).toBeLessThan(2 * 1024 ** 2);
});
