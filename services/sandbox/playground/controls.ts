/** What scenes and keys can do to a playground. */
import type { HollowNodes } from "../hollow/hollow.service.ts";

/** The member that is never killed, because it serves the dashboard. */
export const STEADY_MEMBER = "vigil-1";
/** The member that scenes and keys kill. */
export const MORTAL_MEMBER = "vigil-2";

/** The nodes, the members of Vigil and their policy. Repeating a call changes nothing. */
export interface Controls {
  readonly nodes: HollowNodes;
  /** Ends MORTAL_MEMBER as kill -9 does: it sends no leave message and finishes nothing. */
  kill(): void;
  /** Starts MORTAL_MEMBER again. */
  restart(): void;
  /** Cuts every member off from the API server. The nodes reach it as before. */
  blind(): void;
  /** Gives it back. */
  unblind(): void;
  /** Applies the policy of the playground. */
  applyPolicy(): void;
  removePolicy(): void;
  /** Creates the pods that are missing, as their owners would. */
  createPods(): void;
  state(): ControlState;
}

/** The state of what can be done. */
export interface ControlState {
  readonly isKilled: boolean;
  readonly isBlind: boolean;
  readonly hasPolicy: boolean;
}

/** Undoes whatever was done. */
export function restore(controls: Controls): void {
  controls.unblind();
  controls.restart();
  controls.removePolicy();
  controls.nodes.resume({});
  controls.createPods();
}
