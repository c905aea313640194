/** The time that clocks lose while a node is tainted. */
import { expect, test } from "vitest";
import { LostTime } from "./lost-time.ts";

/** Two processes; the clock of one can be suspended. */
class Stage {
  #nowMs = 0;
  #lostMs = 0;
  readonly lost = new LostTime({
    world: { clock: { monotonicMs: () => this.#nowMs } },
    processes: () => [
      { name: "p1", ownMs: this.#nowMs },
      { name: "p2", ownMs: this.#nowMs - this.#lostMs },
    ],
  });

  pass(ms: number, { isSuspended = false } = {}): void {
    this.#nowMs += ms;
    if (isSuspended) this.#lostMs += ms;
  }
}

test("clocks lose time for a node only while it is tainted", () => {
  const stage = new Stage();
  const { lost } = stage;
  stage.pass(100_000, { isSuspended: true });
  expect(lost.sinceTaintMs("n")).toBe(0);
  lost.tainted("n");
  stage.pass(5000);
  expect(lost.sinceTaintMs("n")).toBe(0);
  stage.pass(3000, { isSuspended: true });
  lost.tainted("n");
  stage.pass(4000, { isSuspended: true });
  expect(lost.sinceTaintMs("n")).toBe(7000);
  lost.untainted("n");
  lost.tainted("n");
  expect(lost.sinceTaintMs("n")).toBe(0);
});

test("a suspension that the taint falls into counts from there", () => {
  const stage = new Stage();
  stage.pass(10_000, { isSuspended: true });
  stage.lost.tainted("n");
  stage.pass(2000, { isSuspended: true });
  expect(stage.lost.sinceTaintMs("n")).toBe(2000);
});
