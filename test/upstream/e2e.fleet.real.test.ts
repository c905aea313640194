/** Upstream's end-to-end specs with a fleet of two processes of Vigil over NATS. */
import { describeWithNats } from "../support/nats-programs.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { E2E_PROGRAMS, runEndToEnd } from "./e2e.ts";
import { describeUpstream } from "./test-program.ts";

describeWithNats("Vigil in two processes over NATS", () => {
  describeUpstream("e2e.test", E2E_PROGRAMS, async () => {
    const nats = await startNatsServer();
    try {
      const bus = (part: number) => [`--nats=${nats.url}`, `--cluster=part-${part}`];
      return await runEndToEnd((part) => ["one", "two"].map((member) => [...bus(part), `--member=${member}`]));
    } finally {
      await nats.stop();
    }
  });
});
