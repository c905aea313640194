/** A reader that is stopped by its own listener, as the supervisor does when a service throws. */
import { describe, expect, test } from "vitest";
import type { Bus, Fleet, Io, Policies, Service } from "../../../protocols/ports.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { supervise } from "../../../services/platform/process/supervisor.ts";
import { list, node, ReaderStage } from "./reader-stage.ts";

/** A stage with one watch, whose listener stops it when it is synced or when it is not. */
function stopsWhen(isSynced: boolean): ReaderStage {
  const stage = new ReaderStage();
  stage.seen.watch.stop();
  stage.wire.next();
  const watch = stage.kube.watch("nodes", {
    changed: () => {},
    gone: () => {},
    state: ({ synced }) => synced === isSynced && watch.stop(),
  });
  return stage;
}

describe("a watch that its listener stops", () => {
  test("as it syncs opens no watch", () => {
    const stage = stopsWhen(true);
    stage.wire.next().answer(200, list("10", [node("a", "1")]));
    stage.clock.advance(600_000);
    expect(stage.wire.waiting).toBe(0);
  });

  test("as it is lost is not opened again", () => {
    const stage = stopsWhen(false);
    stage.wire.next().answer(200, list("10", []));
    const opened = stage.wire.next();
    opened.open();
    opened.fail();
    stage.clock.advance(600_000);
    expect(stage.wire.waiting).toBe(0);
  });
});

test("a service that throws as its watch syncs, and restarts, has one watch", () => {
  const stage = new ReaderStage();
  stage.seen.watch.stop();
  stage.wire.next();
  let runs = 0;
  const service: Service = (io) => {
    const run = ++runs;
    io.kube.watch("nodes", {
      changed: () => {},
      gone: () => {},
      state: ({ synced }) => {
        if (run === 1 && synced) throw new Error("a defect");
      },
    });
    return () => {};
  };
  const { clock, kube, metrics } = stage;
  const io: Partial<Io> = { clock, kube, metrics, log: silentLog, bus: {} as Bus, fleet: {} as Fleet };
  const own = { ...io, policies: {} as Policies } as Io;
  const services = new Map([["observer" as const, service]]);
  supervise({ services, ioOf: () => own, fatal: () => {}, clock, log: silentLog, metrics });
  stage.wire.next().answer(200, list("10", []));
  clock.advance(1_000);
  expect(runs).toBe(2);
  // The list of the second run, and nothing of the first.
  expect(stage.wire.waiting).toBe(1);
});
