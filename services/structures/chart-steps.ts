/**
 * Caches the steps of a statechart without context. Its state is the state value and nothing else, so each pair of
 * state and event is computed once.
 */

/** The result of an event: the next state, and the names of the actions to run. */
export interface ChartStep<S, A> {
  readonly state: S;
  readonly actions: readonly A[];
}

/** Computes a step, as XState's `transition` does. */
export type ComputeStep<S, E> = (value: S, event: E) => readonly [{ readonly value: S }, readonly { type: string }[]];

/** The states and steps of a chart with parallel regions; `S` maps each region to its state. */
export class ChartSteps<S extends object, E extends string, A extends string> {
  readonly #compute: ComputeStep<S, E>;
  readonly #states = new Map<string, S>();
  readonly #steps = new Map<S, Map<E, ChartStep<S, A>>>();

  constructor(compute: ComputeStep<S, E>) {
    this.#compute = compute;
  }

  /** The one object for a state; its regions come in the order of the chart. */
  state(value: S): S {
    const key = Object.values(value).join("|");
    const state = this.#states.get(key) ?? Object.freeze({ ...value });
    this.#states.set(key, state);
    return state;
  }

  /** The result of an event in a state that `state` returned. */
  step(state: S, event: E): ChartStep<S, A> {
    const steps = this.#steps.get(state) ?? new Map<E, ChartStep<S, A>>();
    const known = steps.get(event);
    if (known !== undefined) return known;
    const [{ value }, actions] = this.#compute(state, event);
    const step = { state: this.state(value), actions: actions.map(({ type }) => type as A) };
    this.#steps.set(state, steps.set(event, step));
    return step;
  }
}
