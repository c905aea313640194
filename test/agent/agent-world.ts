/** An agent against the embedded API on virtual time, with measurements that a test changes. */
import { agentKube } from "../../services/agent/agent.kube.ts";
import { Agent } from "../../services/agent/agent.service.ts";
import type { AgentSettings } from "../../services/agent/agent.settings.ts";
import { FakeStats, settingsOf } from "./agent-fixtures.ts";
import { VirtualApi } from "./virtual-api.ts";

/** The API, the measurements, and how often the agent replaced its connections. */
export class AgentWorld extends VirtualApi {
  readonly stats = new FakeStats((run) => this.clock.soon(run));
  reconnects = 0;

  start(changes: Partial<AgentSettings> = {}): Agent {
    const { wire, clock, log, metrics, stats } = this;
    const settings = settingsOf(changes);
    const io = { clock, log, metrics, random: () => 0.5 };
    const onRepeatedFailure = () => {
      this.reconnects++;
    };
    return new Agent({ ...io, kube: agentKube({ wire, ...io }, settings), stats, onRepeatedFailure, settings });
  }

  /** Makes requests of a verb fail until the result is called. */
  refuse(verb: string, times = Number.POSITIVE_INFINITY, code = 500): () => void {
    return this.server.faults.add({ fault: { kind: "status", code }, when: (call) => call.verb === verb, times });
  }
}

/** Path of the node under test. */
export const NODE = "/api/v1/nodes/node-1";
/** Path of its status. */
export const STATUS = `${NODE}/status`;
