/** The port of shadow mode where disruption budgets refuse evictions, as the API server does. */
import type { WriteReply, WriteRequest } from "../../../protocols/ports.ts";
import { ShadowKube, type ShadowKubeIo } from "../../platform/kube/shadow/shadow-kube.ts";
import type { BudgetAnswers } from "./budget-answers.ts";

/** How long a client waits after a refusal for which the API server names no time, in milliseconds. */
const REFUSED_MS = 1000;

/** The port of the services of a preview. */
export class PreviewKube extends ShadowKube {
  readonly #clock: ShadowKubeIo["clock"];
  readonly #budgets: BudgetAnswers;

  constructor(io: ShadowKubeIo, budgets: BudgetAnswers) {
    super(io);
    this.#clock = io.clock;
    this.#budgets = budgets;
    io.bus.subscribe("done.write", "all", ({ body: { uid, podShadow } }) => {
      if (podShadow?.unreadyAt !== undefined) budgets.onUnready(uid);
    });
  }

  override write(request: WriteRequest, done: (reply: WriteReply) => void): void {
    const disruptionBudget = request.verb === "evict" ? this.#budgets.refuse(request.uid) : null;
    if (disruptionBudget !== null) {
      const refusal = { outcome: "throttled", detail: disruptionBudget, retryAfterMs: REFUSED_MS } as const;
      this.#clock.soon(() => done({ ...refusal, disruptionBudget }));
      return;
    }
    if (request.verb === "evict" || request.verb === "delete") this.#budgets.onGone(request.uid ?? "");
    super.write(request, done);
  }
}
