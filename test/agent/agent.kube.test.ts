/** The agent's client where connections have died unseen: lease and status find the way back side by side. */
import { expect, it } from "vitest";
import type { Wire } from "../../protocols/ports.ts";
import { agentKube, reconnecting } from "../../services/agent/agent.kube.ts";
import { startAgent } from "../../services/agent/agent.service.ts";
import { FakeStats, settingsOf } from "./agent-fixtures.ts";
import { VirtualApi } from "./virtual-api.ts";

/** A wire on which closing fails all that is under way, as it does on sockets. */
function closable({ wire, clock }: VirtualApi): Wire & { close(): void } {
  const hangUps = new Set<() => void>();
  return {
    send(request, exchange) {
      const hangUp = () => {
        sent.abort();
        clock.soon(() => exchange.failed({ message: "socket hang up", sent: true }));
      };
      const over = () => hangUps.delete(hangUp);
      const sent = wire.send(request, {
        ...exchange,
        response: (status, headers) => exchange.response(status, headers),
        data: (chunk) => exchange.data(chunk),
        end: () => {
          over();
          exchange.end();
        },
        failed: (problem) => {
          over();
          exchange.failed(problem);
        },
      });
      hangUps.add(hangUp);
      return {
        abort: () => {
          over();
          sent.abort();
        },
      };
    },
    close() {
      const present = [...hangUps];
      hangUps.clear();
      for (const hangUp of present) hangUp();
    },
  };
}

it("renews the lease and posts the status on new connections, neither breaking those of the other", () => {
  const api = new VirtualApi();
  const { clock, log, metrics } = api;
  const settings = settingsOf();
  const wire = closable(api);
  const kube = agentKube({ wire, clock, log, metrics, random: () => 0.5 }, settings);
  const stats = new FakeStats((run) => clock.soon(run));
  const onRepeatedFailure = reconnecting(clock, () => wire.close());
  startAgent({ clock, kube, log, metrics, stats, settings, onRepeatedFailure, random: () => 0.5 });
  clock.advance(1_000);
  const heartbeat = ({ verb }: { verb: string }) => verb === "get" || verb === "update";
  api.server.faults.add({ fault: { kind: "stall" }, when: heartbeat, times: 4 });
  const quick = api.server.faults.add({ fault: { kind: "latency", requestMs: 20 }, when: heartbeat });
  api.forget();
  clock.advance(31_000);
  quick();
  const said = log.lines.map(({ message }) => message);
  expect(said.filter((message) => message === "node status not posted").length).toBeGreaterThan(0);
  expect(said).not.toContain("lease not renewed");
  expect(said).not.toContain("node status not posted in this round");
  expect(Date.parse(String(api.lease()?.spec?.renewTime))).toBeGreaterThan(clock.wallMs() - 11_000);
});
