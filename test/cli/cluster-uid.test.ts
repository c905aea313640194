/** How a process learns which Kubernetes cluster it minds, and that it starts all the same where it cannot. */
import { expect, test } from "vitest";
import type { Fault } from "../../services/apiserver/faults.ts";
import { clusterUid } from "../../services/cli/run/cluster-uid.ts";
import { recordingLog } from "../support/recording-log.ts";
import { VirtualWorld } from "../support/virtual-world.ts";

/** Asks, and lets time pass; what was found and what was logged. */
async function asked(world: VirtualWorld, passedMs: number) {
  const log = recordingLog();
  const found = clusterUid({ kube: world.kube, clock: world.clock, log });
  world.advance(passedMs);
  return { uid: await found, lines: log.lines.map(({ level, message, fields }) => [level, message, fields.detail]) };
}

test("it is the uid of namespace kube-system, and nothing is logged", async () => {
  const world = new VirtualWorld();
  const namespace = world.read({ kind: "Namespace", namespace: "", name: "kube-system" });
  expect(namespace?.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
  expect(await asked(world, 0)).toEqual({ uid: namespace?.metadata.uid, lines: [] });
});

test.each<[string, Fault, number, RegExp]>([
  ["may not read it", { kind: "status", code: 403, message: "no" }, 0, /^403: .*no/],
  ["is asked to come later", { kind: "status", code: 429, retryAfterSeconds: 60 }, 0, /^429/],
  ["loses the connection over it", { kind: "lostRequest" }, 0, /ECONNRESET/],
  ["is not answered within two seconds", { kind: "stall" }, 2_000, /no answer within 2000 ms/],
])("a process that %s starts without, and says so once with the remedy", async (_what, fault, passedMs, detail) => {
  const world = new VirtualWorld();
  world.api.faults.add({ fault });
  const { uid, lines } = await asked(world, passedMs);
  const message =
    "cannot tell this Kubernetes cluster from another on the same NATS: give the account get on namespace kube-system";
  expect(uid).toBeNull();
  expect(lines).toEqual([["warn", message, expect.stringMatching(detail)]]);
});
