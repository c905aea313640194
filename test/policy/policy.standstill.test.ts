/** A policy process that stood still knows only what held before, and must not publish that. */
import { expect, test } from "vitest";
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import type { Wire } from "../../protocols/ports.ts";
import { policyService } from "../../services/policy/policy.service.ts";
import { ProcessClock } from "../sim/process-clock.ts";
import { EvictionWorld } from "../support/eviction-world.ts";
import { Standstill } from "../support/standstill.ts";

const S = 1000;

/** A wire whose answers to requests before an instant are lost from another one on, without a sign of it. */
function dyingWire(wire: Wire, isDead: () => boolean): Wire {
  return {
    send: (request, exchange) => {
      const isOld = !isDead();
      const isLost = (): boolean => isOld && isDead();
      return wire.send(request, {
        response: (status, headers) => isLost() || exchange.response(status, headers),
        data: (chunk) => isLost() || exchange.data(chunk),
        end: () => isLost() || exchange.end(),
        failed: (failure) => isLost() || exchange.failed(failure),
      });
    },
  };
}

/** Whether each set that was published after a standstill has the freeze that began meanwhile. */
function frozenAfterwards(stillMs: number, phaseMs: number, areSocketsDead = false): boolean[] {
  const world = new EvictionWorld();
  const standstill = new Standstill(new ProcessClock(world.clock, { rate: 1, wallOffsetMs: 0 }));
  let isDead = false;
  const wireOver = (wire: Wire): Wire => dyingWire(wire, () => isDead);
  const policies = policyService([{ name: "gpu", spec: { selector: {} } }]);
  world.start({ policy: policies }, { member: "vigil", standstill, wireOver });
  world.advance(20 * S + phaseMs);
  standstill.begin();
  isDead = areSocketsDead;
  world.advance(1);
  const { namespace, name } = FREEZE_CONFIG_MAP;
  const data = { pauseRequests: JSON.stringify([{ name: "oncall" }]) };
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
  world.write({ verb: "create", ref: FREEZE_CONFIG_MAP, urgency: 0, body });
  world.advance(stillMs);
  const before = world.published("judged.policies").length;
  standstill.end();
  world.advance(10 * S);
  return world
    .published("judged.policies")
    .slice(before)
    .map(({ body: { frozen } }) => frozen !== undefined);
}

test.each([100, 600, 6000, 60_000])("a freeze that began in a standstill of %i ms is not lifted", (stillMs) => {
  for (let phaseMs = 0; phaseMs < 5000; phaseMs += 250) {
    const frozen = frozenAfterwards(stillMs, phaseMs);
    expect([phaseMs, frozen.length > 0, frozen.includes(false)]).toEqual([phaseMs, true, false]);
  }
});

test("nor where the watches died in it without a sign", () => {
  for (let phaseMs = 0; phaseMs < 5000; phaseMs += 250) {
    const frozen = frozenAfterwards(10 * S, phaseMs, true);
    expect([phaseMs, frozen.length > 0, frozen.includes(false)]).toEqual([phaseMs, true, false]);
  }
});
