/** Draws a statechart as a Mermaid state diagram, from its configuration. */
import { recordOf } from "./json.ts";

/** The part of a statechart's configuration that is drawn. */
export interface DrawnState {
  readonly type?: unknown;
  readonly initial?: unknown;
  readonly on?: unknown;
  readonly entry?: unknown;
  readonly exit?: unknown;
  readonly states?: unknown;
}

/**
 * The Mermaid text of a chart: parallel regions side by side, transitions in UML's notation `event [guard] / action`,
 * and in each state its entry, exit and internal actions.
 */
export function machineMermaid(chart: DrawnState): string {
  return `${["stateDiagram-v2", ...linesOf(chart, "  ")].join("\n")}\n`;
}

function linesOf(state: DrawnState, indent: string): string[] {
  const children = recordOf(state.states) as Record<string, DrawnState>;
  const inner = (name: string, child: DrawnState): string[] =>
    Object.keys(recordOf(child.states)).length === 0
      ? []
      : [`${indent}state ${name} {`, ...linesOf(child, `${indent}  `), `${indent}}`];
  const lines = typeof state.initial === "string" ? [`${indent}[*] --> ${state.initial}`] : [];
  for (const [name, child] of Object.entries(children)) {
    lines.push(...inner(name, child), ...activitiesOf(name, child).map((activity) => `${indent}${name}: ${activity}`));
    for (const [event, transition] of Object.entries(recordOf(child.on))) {
      // A transition of a state to itself does not leave it.
      const arrows = arrowsOf(transition).filter(({ target }) => target !== name);
      lines.push(...arrows.map(({ target, label }) => `${indent}${name} --> ${target}: ${event}${label}`));
    }
  }
  return lines;
}

/** The entry, exit and internal actions of a state, after its name, which Mermaid makes the title. */
function activitiesOf(name: string, { entry, exit, on }: DrawnState): string[] {
  const inside = Object.entries(recordOf(on)).flatMap(([event, transition]) => {
    const { target, actions } = recordOf(transition);
    return target === undefined || target === name ? [`${event}${effectsOf(actions)}`] : [];
  });
  const all = [`entry${effectsOf(entry)}`, ...inside, `exit${effectsOf(exit)}`].filter((each) => each.includes("/"));
  return all.length === 0 ? [] : [name, ...all];
}

/** The targets of a transition, which is a name, an object with a target, or a list of these. */
function arrowsOf(transition: unknown): { readonly target: string; readonly label: string }[] {
  if (typeof transition === "string") return [{ target: transition, label: "" }];
  if (Array.isArray(transition)) return transition.flatMap(arrowsOf);
  const { target, guard, actions } = recordOf(transition);
  if (typeof target !== "string") return [];
  const condition = typeof guard === "string" ? ` [${guard}]` : "";
  return [{ target, label: `${condition}${effectsOf(actions)}` }];
}

function effectsOf(actions: unknown): string {
  const names = [actions].flat().filter((action) => typeof action === "string");
  return names.length === 0 ? "" : ` / ${names.join(", ")}`;
}
