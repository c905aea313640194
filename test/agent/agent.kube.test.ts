/** The agent's client on connections that died unnoticed: lease and status recover independently. */
import { expect, it } from "vitest";
import type { Wire } from "../../protocols/ports.ts";
import { agentKube, reconnecting } from "../../services/agent/agent.kube.ts";
import { Agent } from "../../services/agent/agent.service.ts";
import { FakeStats, settingsOf } from "./agent-fixtures.ts";
import { VirtualApi } from "./virtual-api.ts";

/** A wire on which closing fails all requests under way, as on sockets. */
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

it("lease and status do not close each other's new connections", () => {
  const api = new VirtualApi();
  const { clock, log, metrics } = api;
  const settings = settingsOf();
  const wire = closable(api);
  const kube = agentKube({ wire, clock, log, metrics, random: () => 0.5 }, settings);
  const stats = new FakeStats((run) => clock.soon(run));
  const onRepeatedFailure = reconnecting(clock, () => wire.close());
  new Agent({ clock, kube, log, metrics, stats, settings, onRepeatedFailure, random: () => 0.5 });
  clock.advance(1_000);
  const heartbeat = ({ verb }: { verb: string }) => verb === "get" || verb === "update";
  api.server.faults.add({ fault: { kind: "stall" }, when: heartbeat, times: 4 });
  const quick = api.server.faults.add({ fault: { kind: "latency", requestMs: 20 }, when: heartbeat });
  api.forget();
  clock.advance(31_000);
  quick();
  const messages = log.lines.map(({ message }) => message);
  expect(messages.filter((message) => message === "node status not posted").length).toBeGreaterThan(0);
  expect(messages).not.toContain("lease not renewed");
  expect(messages).not.toContain("node status not posted, waiting for the next period");
  expect(Date.parse(String(api.lease()?.spec?.renewTime))).toBeGreaterThan(clock.wallMs() - 11_000);
});
