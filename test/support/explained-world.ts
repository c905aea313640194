/** A cluster under policies with a ledger in a process of its own, on virtual time. It asserts nothing. */
import type { LedgerReader } from "../../protocols/ledger-reader.ts";
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import type { PauseRequestSpec } from "../../protocols/node-policy.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { ConfiguredPolicy } from "../../services/domain/node-policy.parse.ts";
import { startLedger } from "../../services/ledger/ledger.service.ts";
import { PolicyReceiver } from "../../services/platform/node-policies/policy-receiver.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { EvictionWorld } from "./eviction-world.ts";
import type { VirtualProcess } from "./virtual-cluster.ts";

/** A cluster with a ledger that explains. */
export class ExplainedWorld extends EvictionWorld {
  #reader: LedgerReader | null = null;
  #process: VirtualProcess;
  readonly #wallAheadMs: number | undefined;

  /** `wallAheadMs` is how far the clock of the ledger's machine is ahead of the API server's. */
  constructor(policies: readonly ConfiguredPolicy[], profile: Partial<Profile> = {}, wallAheadMs?: number) {
    super(profile, policies);
    this.#wallAheadMs = wallAheadMs;
    this.#process = this.#startLedger();
  }

  /** Kills the process of the ledger and starts it again. */
  restartLedger(): void {
    this.#process.kill();
    this.#process = this.#startLedger();
  }

  #startLedger(): VirtualProcess {
    const io = { clock: this.clock, log: silentLog, metrics: createMetrics() };
    const received = new PolicyReceiver({ bus: this.busOf("policies", "explaining"), ...io });
    const ledger = (ledgerIo: Parameters<typeof startLedger>[0]) => {
      // As in production, it reads what exists: shadow mode shows pods as terminating that no client deletes.
      const started = startLedger({ ...ledgerIo, kube: this.kube });
      this.#reader = started.reader;
      return started.stop;
    };
    const ahead = this.#wallAheadMs === undefined ? {} : { wallAheadMs: this.#wallAheadMs };
    return this.start({ ledger }, { member: "explaining", policies: received, ...ahead });
  }

  /** The answers of the ledger. */
  get reader(): LedgerReader {
    if (this.#reader === null) throw new Error("the ledger has not started");
    return this.#reader;
  }

  /** Writes the pause requests as `vigil freeze` does. */
  request(...requests: readonly (PauseRequestSpec & { readonly policy?: string })[]): void {
    const { namespace, name } = FREEZE_CONFIG_MAP;
    const data = { pauseRequests: JSON.stringify(requests) };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
    if (this.read(FREEZE_CONFIG_MAP) === null) this.write({ verb: "create", ref: FREEZE_CONFIG_MAP, urgency: 0, body });
    else this.patch(FREEZE_CONFIG_MAP, { data });
    this.advance(1000);
  }

  /** An instant from now on, on the API's clock. */
  at(inMs = 0): string {
    return new Date(this.clock.wallMs() + inMs).toISOString();
  }

  /** What explain says about a pod. */
  sentencesOfPod(name: string): readonly string[] {
    let sentences: readonly string[] = [];
    this.reader.explainPod("default", name, (explained) => {
      sentences = explained?.sentences ?? [];
    });
    this.advance(0);
    return sentences;
  }
}
