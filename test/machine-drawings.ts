/** Writes the drawings of docs/machines.md from the charts that run. */
import { nodeMachine } from "../services/node/node.machine.ts";
import { machineMermaid } from "../services/structures/machine-mermaid.ts";
import { zoneMachine } from "../services/zone/zone.machine.ts";

const CHARTS = { node: nodeMachine.config, zone: zoneMachine.config };

/** A page with each drawing between its two marks as the chart is now. Throws an Error when a mark is missing. */
export function withMachineDrawings(page: string): string {
  return Object.entries(CHARTS).reduce((text, [name, chart]) => {
    const opens = `<!-- ${name} machine: written by npm run fix -->`;
    const from = text.indexOf(opens);
    const to = text.indexOf(`<!-- end of ${name} machine -->`);
    if (from < 0 || to < from) throw new Error(`the page must hold ${opens} and its end`);
    return `${text.slice(0, from + opens.length)}\n\`\`\`mermaid\n${machineMermaid(chart)}\`\`\`\n${text.slice(to)}`;
  }, page);
}
