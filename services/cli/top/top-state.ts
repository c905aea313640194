/** What `vigil top` shows and how keys change it. Pure: answers of the console and keys are arguments. */
import type { NodeReport, Overview, PendingEviction, PolicyReport } from "../../../protocols/ledger-reader.ts";
import type { About } from "../../console/console.routes.ts";

/** One answer of the console. */
export interface TopAnswer {
  readonly overview: Overview;
  /** The console that answers. */
  readonly about: Pick<About, "cluster" | "version" | "shadow" | "beside">;
  /** The nodes that are not ready, the worst first. */
  readonly nodes: readonly NodeReport[];
  /** The pods to be evicted, soonest first. */
  readonly pods: readonly PendingEviction[];
  /** The node policies; empty while they are not known. */
  readonly policies: readonly PolicyReport[];
  /** Messages that this process handles; null while that is not known. */
  readonly messagesPerSecond: number | null;
}

/** The lists that can be shown. */
export const TOP_VIEWS = ["nodes", "pods", "policies"] as const;

type TopRow = NodeReport | PendingEviction | PolicyReport;

/** What the screen shows. */
export interface TopState {
  readonly answer: TopAnswer | null;
  /** Why there is no fresh answer, in one line; null while there is. */
  readonly problem: string | null;
  readonly view: (typeof TOP_VIEWS)[number];
  /** The index of the selected row among those that match the filter. */
  readonly selected: number;
  /** Only rows whose name contains this. */
  readonly filter: string;
  /** Whether keys extend the filter. */
  readonly isTyping: boolean;
  /** An explanation in place of the list; its lines are there once the console has answered. */
  readonly explained: { readonly path: string; readonly lines: readonly string[] | null; readonly top: number } | null;
}

/** The state before the first answer. */
export const FIRST_STATE: TopState = {
  answer: null,
  problem: null,
  view: "nodes",
  selected: 0,
  filter: "",
  isTyping: false,
  explained: null,
};

/** The state after a key; null to end. */
export function afterKey(state: TopState, key: string): TopState | null {
  if (key === "interrupt") return null;
  if (state.isTyping) return afterTyping(state, key);
  if (state.explained !== null) return afterReading(state, state.explained, key);
  switch (key) {
    case "q":
      return null;
    case "up":
    case "k":
      return { ...state, selected: Math.max(0, state.selected - 1) };
    case "down":
    case "j":
      return { ...state, selected: Math.max(0, Math.min(rowsOf(state).length - 1, state.selected + 1)) };
    case "tab":
      return { ...state, view: viewAfter(state.view), selected: 0 };
    case "/":
      return { ...state, isTyping: true };
    case "escape":
      return { ...state, filter: "", selected: 0 };
    case "enter":
      return { ...state, explained: subjectOf(state) };
    default:
      return state;
  }
}

function afterTyping(state: TopState, key: string): TopState {
  if (key === "enter") return { ...state, isTyping: false };
  if (key === "escape") return { ...state, isTyping: false, filter: "", selected: 0 };
  if (key === "backspace") return { ...state, filter: state.filter.slice(0, -1), selected: 0 };
  return key.length === 1 ? { ...state, filter: state.filter + key, selected: 0 } : state;
}

function afterReading(state: TopState, explained: NonNullable<TopState["explained"]>, key: string): TopState | null {
  const last = Math.max(0, (explained.lines?.length ?? 0) - 1);
  if (key === "q") return null;
  if (key === "escape" || key === "backspace") return { ...state, explained: null };
  if (key === "up" || key === "k")
    return { ...state, explained: { ...explained, top: Math.max(0, explained.top - 1) } };
  if (key === "down" || key === "j")
    return { ...state, explained: { ...explained, top: Math.min(last, explained.top + 1) } };
  return state;
}

/** The rows of the shown list that match the filter. */
export function rowsOf({ answer, view, filter }: TopState): readonly TopRow[] {
  if (answer === null) return [];
  const rows: readonly TopRow[] = answer[view];
  return filter === "" ? rows : rows.filter((row) => nameOf(row).includes(filter));
}

function viewAfter(view: TopState["view"]): TopState["view"] {
  return TOP_VIEWS[(TOP_VIEWS.indexOf(view) + 1) % TOP_VIEWS.length] ?? TOP_VIEWS[0];
}

function nameOf(row: TopRow): string {
  return "namespace" in row ? `${row.namespace}/${row.name}` : row.name;
}

/** The explanation of the selected row; null without one, as for the row of all nodes, which has no policy. */
function subjectOf(state: TopState): TopState["explained"] {
  const row = rowsOf(state)[state.selected];
  if (row === undefined || row.name === "") return null;
  const kind = state.view === "policies" ? "policy" : "node";
  const parts = "namespace" in row ? ["pod", row.namespace, row.name] : [kind, row.name];
  return { path: `/api/explain/${parts.map(encodeURIComponent).join("/")}`, lines: null, top: 0 };
}
