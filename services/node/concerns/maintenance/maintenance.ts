/** The concern of `maintenance`: conditions such as DrainInProgress block evictions of the node for a while. */
import { Annotation } from "../../../../protocols/names.ts";
import type { Io } from "../../../../protocols/ports.ts";
import { type PresentMaintenance, presentMaintenance } from "../../../domain/maintenance.ts";
import type { Concern, Finding, PolicyView } from "../concern.ts";
import { windowsChange } from "./maintenance.policy.ts";

/** Records when conditions have blocked evictions of one node. */
export class MaintenanceWindows implements Concern {
  readonly #io: Pick<Io, "profile">;
  /** What blocks its evictions now; null for nothing. */
  #window: PresentMaintenance | null = null;

  constructor(io: Pick<Io, "profile">) {
    this.#io = io;
  }

  review(view: PolicyView): Finding {
    const { node, selecting, isKnown, at } = view;
    // While the policy is not known, a window still ends on time: otherwise the node would be reviewed without end.
    if (isKnown) this.#window = presentMaintenance(node, selecting, at.wallMs);
    else if (this.#window !== null && this.#window.untilAt <= at.wallMs) this.#window = null;
    const text = isKnown ? this.#recordOf(view) : undefined;
    return {
      ...(text === undefined ? {} : { annotations: { [Annotation.holds]: text } }),
      ...(this.#window === null
        ? {}
        : { judged: { maintenance: this.#window }, nextMs: at.nowMs + Math.max(0, this.#window.untilAt - at.wallMs) }),
    };
  }

  /** If several policies select the node, each of them blocks its evictions, and countdowns need the record of that. */
  #recordOf({ node, selecting, observations, at }: PolicyView): string | null | undefined {
    const { evictionMode, bounds } = this.#io.profile;
    const maintenances = selecting.flatMap(({ maintenance }) => maintenance ?? []);
    const { endedHoldsMax } = bounds;
    return windowsChange({ node, maintenances, observations, evictionMode, endedHoldsMax, now: at });
  }
}
