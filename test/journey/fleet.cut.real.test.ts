/** A fleet of two processes when one of them dies, or its connection to NATS is cut in one or both directions. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, test } from "vitest";
import { describeWithNats } from "../support/nats-programs.ts";
import { type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { FleetWorld } from "./fleet-world.ts";
import { expectRecovery } from "./outage.ts";

const GRACE_MS = 6_000;
const LONG_TEST_MS = 180_000;
const [SILENT, CUT_OFF] = ["a member of the fleet stopped sending pulses", "cut off from the fleet"];

describeWithNats("a fleet of two processes whose observer has a cuttable link to NATS", () => {
  const world = new FleetWorld({
    zones: { one: 280, two: 280 },
    leaseSeconds: 4,
    tolerationSeconds: 300,
    flags: [`--node-monitor-grace-period=${GRACE_MS / 1000}s`, "--unhealthy-zone-threshold=0.95"],
  });
  let nats: NatsServer;
  let way: TcpProxy;
  let observer: string;
  let other: string;
  const urlOf = (member: string) => `nats://127.0.0.1:${member === observer ? way.port : nats.port}`;
  beforeAll(async () => {
    [nats] = await Promise.all([startNatsServer(), world.begin()]);
    way = await startTcpProxy(nats.port);
    observer = world.ownerOf("observer", 0, ["a", "b"]);
    other = observer === "a" ? "b" : "a";
    await Promise.all([observer, other].map((member) => world.start(member, urlOf(member))));
    await pause(GRACE_MS);
  });
  afterAll(async () => {
    await world.end();
    await way.close();
    await nats.stop();
  });

  test(
    "whose observer is killed: the other observes and judges in its place",
    {
      timeout: LONG_TEST_MS,
    },
    () =>
      expectRecovery(world, GRACE_MS, {
        logged: { [other]: SILENT },
        leavesMember: true,
        begin: () => world.stop(observer, "SIGKILL"),
        end: () => world.start(observer, urlOf(observer)),
      }),
  );

  test.for([
    ["hears nothing and is not heard", [CUT_OFF, SILENT], () => way.cut(), () => way.mend()],
    ["hears nothing and is heard", [CUT_OFF], () => way.stall("server"), () => way.flow()],
    ["hears and is not heard", [CUT_OFF, SILENT], () => way.stall("client"), () => way.flow()],
  ] as const)(
    "whose observer %s: nothing is judged wrongly, and the other owns everything",
    { timeout: LONG_TEST_MS },
    ([, [ofItself, ofIt], begin, end]) =>
      expectRecovery(world, GRACE_MS, {
        logged: { [observer]: ofItself, ...(ofIt === undefined ? {} : { [other]: ofIt }) },
        leavesMember: true,
        begin: () => Promise.resolve(begin()),
        end: () => Promise.resolve(end()),
      }),
  );
});
