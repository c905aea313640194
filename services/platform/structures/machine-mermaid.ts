/**
 * Draws a statechart as a Mermaid state diagram. It reads the chart's configuration and knows nothing of what the
 * states mean.
 */

/** The part of a statechart's configuration that is drawn. */
export interface DrawnState {
  readonly type?: unknown;
  readonly initial?: unknown;
  readonly on?: unknown;
  readonly states?: unknown;
}

/** The Mermaid text of a chart; parallel regions are drawn side by side, each transition with its event. */
export function machineMermaid(chart: DrawnState): string {
  return `${["stateDiagram-v2", ...linesOf(chart, "  ")].join("\n")}\n`;
}

function linesOf(state: DrawnState, indent: string): string[] {
  const children = recordOf<DrawnState>(state.states);
  const inner = (name: string, child: DrawnState): string[] =>
    Object.keys(recordOf(child.states)).length === 0
      ? []
      : [`${indent}state ${name} {`, ...linesOf(child, `${indent}  `), `${indent}}`];
  const lines = typeof state.initial === "string" ? [`${indent}[*] --> ${state.initial}`] : [];
  for (const [name, child] of Object.entries(children)) {
    lines.push(...inner(name, child));
    for (const [event, transition] of Object.entries(recordOf<unknown>(child.on))) {
      for (const { target, label } of arrowsOf(transition)) {
        lines.push(`${indent}${name} --> ${target}: ${event}${label}`);
      }
    }
  }
  return lines;
}

/**
 * The states that a transition leads to, each with its guard and its actions as UML writes them: `[guard] / action`. A
 * transition is written as a name, an object with a target, or a list of these.
 */
function arrowsOf(transition: unknown): { readonly target: string; readonly label: string }[] {
  if (typeof transition === "string") return [{ target: transition, label: "" }];
  if (Array.isArray(transition)) return transition.flatMap(arrowsOf);
  const { target, guard, actions } = recordOf<unknown>(transition);
  if (typeof target !== "string") return [];
  const condition = typeof guard === "string" ? ` [${guard}]` : "";
  const effects = [actions].flat().filter((action) => typeof action === "string");
  return [{ target, label: effects.length === 0 ? condition : `${condition} / ${effects.join(", ")}` }];
}

function recordOf<V>(value: unknown): Record<string, V> {
  return typeof value === "object" && value !== null ? (value as Record<string, V>) : {};
}
