/** The screen of `vigil top`, line by line, from the tables of `vigil get`. Pure. */
import type { Overview, PolicyReport } from "../../../protocols/ledger-reader.ts";
import { countText } from "../../domain/format.ts";
import { freezeText } from "../../domain/freeze-report.ts";
import { printable } from "../../platform/process/printable.ts";
import { NODES, POLICIES, type Table, TIMERS, ZONES } from "../get/get-tables.ts";
import { blindnessOf } from "../get/watch.policy.ts";
import { Columns } from "../output/text-table.ts";
import { rowsOf, type TopState } from "./top-state.ts";

/** What a screen is drawn for. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  /** Whether colours may be used. */
  readonly color: boolean;
  readonly nowMs: number;
  /** The console that answers. */
  readonly server: string;
}

/** How a line is meant. */
type Tone = "plain" | "heading" | "bad" | "warning" | "selected";

interface Line {
  readonly text: string;
  readonly tone: Tone;
}

/** SGR codes of the tones. */
const CODES: Readonly<Record<Tone, string | null>> = {
  plain: null,
  heading: "1",
  bad: "31",
  warning: "33",
  selected: "7",
};
const HELP_LIST = "q quit · ↑↓ select · enter explain · tab nodes/pods/policies · / filter · esc clear";
const HELP_READING = "q quit · ↑↓ scroll · esc back";
/** Lines for the list at least, however many zones there are. */
const LIST_ROWS_MIN = 6;

/** The lines of the screen: at most as many as its rows, none wider than its columns. */
export function screenOf(state: TopState, screen: Screen): string[] {
  const head = [...headOf(state, screen), ...warningsOf(state)];
  const foot: Line = { text: footOf(state), tone: "heading" };
  const room = Math.max(0, screen.rows - head.length - 1);
  const body = bodyOf(state, screen, room).slice(0, room);
  const padding = Array.from({ length: Math.max(0, room - body.length) }, () => plain(""));
  return [...head, ...body, ...padding, foot].slice(0, screen.rows).map((line) => painted(line, screen));
}

function headOf({ answer }: TopState, { server }: Screen): Line[] {
  if (answer === null) return [{ text: `Vigil at ${server}`, tone: "heading" }];
  const { about, overview, messagesPerSecond } = answer;
  const { ready, notReady, unknown, starting } = overview.nodes;
  const shadow = about.shadow ? " · shadow: nothing is written" : "";
  const beside = about.beside ? " · beside kube-controller-manager: no pod is evicted" : "";
  const rate = messagesPerSecond === null ? "" : ` · ${Math.round(messagesPerSecond)} messages/s`;
  const nodes = `${ready} ready · ${notReady} not ready · ${unknown} unknown · ${starting} starting`;
  return [
    { text: printable(`Vigil ${about.version} · cluster ${about.cluster}${shadow}${beside}`), tone: "heading" },
    plain(`${nodes} · ${countText(overview.pendingEvictions, "pod")} to evict${rate}`),
  ];
}

/** Sentences about what is blocked, and by what. */
function warningsOf({ answer, problem }: TopState): Line[] {
  const answered = answer === null ? [] : [...healthWarnings(answer.overview), ...pausedPolicies(answer.policies)];
  const lines = [...(problem === null ? [] : [problem]), ...answered];
  return lines.map((text) => ({ text: `! ${printable(text)}`, tone: "bad" }));
}

function healthWarnings({ zones, watchHealth }: Overview): string[] {
  const blind = blindnessOf(watchHealth);
  const halted = zones.filter((zone) => zone.halted).length;
  return [
    ...(blind === null ? [] : [`${blind}; no evictions are decided there`]),
    ...(halted === 0 ? [] : [`every zone is disrupted: evictions are halted in ${countText(halted, "zone")}`]),
  ];
}

/** The policies that evict no pod at present, in one line each. */
function pausedPolicies(policies: readonly PolicyReport[]): string[] {
  return policies.flatMap(({ name, breaker, freeze }) => {
    const nodes = name === "" ? "all nodes" : `the nodes of policy ${name}`;
    return [
      ...(freeze === null ? [] : [`${nodes} are frozen by ${freezeText(freeze).text}`]),
      ...(breaker?.state === "open" ? [`the circuit breaker of ${nodes} is open`] : []),
    ];
  });
}

function bodyOf(state: TopState, screen: Screen, room: number): Line[] {
  const { answer, explained } = state;
  if (explained !== null) {
    const lines = explained.lines ?? ["waiting for the explanation"];
    return [plain(""), ...lines.slice(explained.top).map((text) => plain(text))];
  }
  if (answer === null) return [plain(""), plain(state.problem === null ? "connecting" : "retrying")];
  const zonesMax = Math.max(1, Math.min(answer.overview.zones.length, room - LIST_ROWS_MIN - 3));
  const zones = [...answer.overview.zones].sort((left, right) => right.notReady - left.notReady);
  const zoneLines = tableLines(ZONES, zones.slice(0, zonesMax), screen.nowMs).map((text, index) => {
    const zone = zones[index - 1];
    return zone === undefined ? heading(text) : { text, tone: toneOfState(zone.state, zone.halted) };
  });
  const hidden = zones.length - zonesMax;
  const more = hidden <= 0 ? [] : [plain(`and ${countText(hidden, "more zone")} with fewer nodes not ready`)];
  const above = [plain(""), ...zoneLines, ...more, plain("")];
  return [...above, ...listOf(state, screen, Math.max(0, room - above.length))];
}

function toneOfState(state: string, halted: boolean): Tone {
  if (halted || state === "FullDisruption") return "bad";
  return state === "PartialDisruption" ? "warning" : "plain";
}

function listOf(state: TopState, { nowMs }: Screen, room: number): Line[] {
  const rows = rowsOf(state);
  if (rows.length === 0) return [plain(emptyText(state))];
  const selected = Math.min(state.selected, rows.length - 1);
  // The window follows the selection.
  const first = Math.max(0, Math.min(selected - Math.floor(room / 2), rows.length - (room - 1)));
  const window = rows.slice(first, first + room - 1);
  const lines = {
    nodes: () =>
      tableLines(
        NODES,
        window.filter((row) => "readiness" in row),
        nowMs,
      ),
    pods: () =>
      tableLines(
        TIMERS,
        window.filter((row) => "namespace" in row),
        nowMs,
      ),
    policies: () =>
      tableLines(
        POLICIES,
        window.filter((row) => "mode" in row),
        nowMs,
      ),
  }[state.view]();
  return lines.map((text, index) => {
    if (index === 0) return heading(`  ${text}`);
    const isSelected = first + index - 1 === selected;
    return { text: `${isSelected ? ">" : " "} ${text}`, tone: isSelected ? "selected" : toneOfRow(text) };
  });
}

function toneOfRow(text: string): Tone {
  if (text.includes(" unknown ")) return "bad";
  return text.includes(" notReady ") ? "warning" : "plain";
}

function emptyText({ view, filter, answer }: TopState): string {
  if (filter !== "") return `no ${view} match ${JSON.stringify(filter)}`;
  if (view === "pods") return "no pod is to be evicted";
  if (view === "policies") return "no node policies are known";
  const ready = answer?.overview.nodes.ready ?? 0;
  return ready === 0 ? "no nodes are known" : `every one of ${countText(ready, "node")} is ready`;
}

function footOf({ isTyping, filter, explained, answer, problem }: TopState): string {
  if (isTyping) return `filter: ${printable(filter)}_   enter keep · esc clear`;
  if (explained !== null) return HELP_READING;
  const kept = filter === "" ? "" : `filter ${JSON.stringify(filter)} · `;
  const age = answer === null || problem === null ? "" : "stale · ";
  return `${age}${kept}${HELP_LIST}`;
}

function tableLines<R>({ heading: columns, cells }: Table<R>, rows: readonly R[], nowMs: number): string[] {
  const text = new Columns().lines([columns, ...rows.map((row) => cells(row, nowMs))]);
  return text.trimEnd().split("\n");
}

function plain(text: string): Line {
  return { text, tone: "plain" };
}

function heading(text: string): Line {
  return { text, tone: "heading" };
}

function painted({ text, tone }: Line, { columns, color }: Screen): string {
  const characters = Array.from(text);
  const cut = characters.length > columns ? `${characters.slice(0, columns - 1).join("")}…` : text;
  const code = CODES[tone];
  return color && code !== null && cut !== "" ? `\u001b[${code}m${cut}\u001b[0m` : cut;
}
