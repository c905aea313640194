/**
 * JSON paths as kubectl and the printer columns of custom resources have them
 * (kubernetes.io/docs/reference/kubectl/jsonpath): fields, indexes, slices, wildcards, recursive descent and filters.
 * Nothing of a path is run as code, because any user may define one.
 */

/** Leads from values to those at a path; a field that does not exist gives none. */
export type JsonPath = (values: readonly unknown[]) => readonly unknown[];

/** `..`, a bracket with a quoted name or another content, or a field. */
const SEGMENT =
  /\.\.|\.?\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\]]*(?:\([^)]*\))?[^\]]*))\]|\.?((?:[^.[\]\s\\]|\\.)+)/y;
const FILTER = /^\?\(\s*@([^=!<>]*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*\)$/;

/** Parses a path such as `.items[*].name`; null where it is not understood. */
export function parseJsonPath(path: string): JsonPath | null {
  const steps: JsonPath[] = [];
  let at = /^[$@]/.test(path) ? 1 : 0;
  if (path.slice(at) === ".") return (values) => values;
  while (at < path.length) {
    SEGMENT.lastIndex = at;
    const match = SEGMENT.exec(path);
    // Before the step is made: a filter holds a path of its own.
    at = SEGMENT.lastIndex;
    const step = stepOf(match);
    if (step === null) return null;
    steps.push(step);
  }
  return (values) => steps.reduce((found, step) => step(found), values);
}

/** Whether a path is that of a printer column: it begins with a field and descends nowhere. */
export function isColumnPath(path: string): boolean {
  return path.startsWith(".") && !path.includes("..") && parseJsonPath(path) !== null;
}

/** The text between quotes, with the escapes of JSON; null for others. */
export function unquoted(text: string): string | null {
  const inner = text.slice(1, -1).replace(/\\'/g, "'");
  const quoted = text.startsWith('"') ? text : `"${inner.replace(/(?<!\\)"/g, '\\"')}"`;
  try {
    return String(JSON.parse(quoted));
  } catch {
    return null;
  }
}

function stepOf(match: RegExpExecArray | null): JsonPath | null {
  if (match === null) return null;
  const [whole, single, double, bracket, field] = match;
  const name = single ?? double ?? field ?? "";
  if (whole === "..") return descend;
  if (bracket !== undefined) return bracketStep(bracket.trim());
  return name === "*" ? children : fieldStep(name.replace(/\\(.)/g, "$1"));
}

function bracketStep(text: string): JsonPath | null {
  if (text === "*") return children;
  const [, from, to] = /^(-?\d*):(-?\d*)$/.exec(text) ?? [];
  if (from !== undefined && to !== undefined) {
    const [first, end] = [from === "" ? 0 : Number(from), to === "" ? undefined : Number(to)];
    return (values) => values.flatMap((value) => (Array.isArray(value) ? value.slice(first, end) : []));
  }
  if (/^-?\d+$/.test(text)) {
    const index = Number(text);
    return (values) => values.flatMap((value) => (Array.isArray(value) ? present(value.at(index)) : []));
  }
  return filterStep(text);
}

const COMPARISONS: Readonly<Record<string, (order: number) => boolean>> = {
  "==": (order) => order === 0,
  "!=": (order) => order !== 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};

/** `?(@.readiness=="unknown")`, or `?(@.heartbeatAt)` for a value that is there. */
function filterStep(text: string): JsonPath | null {
  const [match, path = "", comparison, literal = ""] = FILTER.exec(text) ?? [];
  const step = parseJsonPath(path);
  const wanted = /^["']/.test(literal) ? unquoted(literal) : literal;
  if (match === undefined || step === null || wanted === null) return null;
  const holds = (value: unknown): boolean => {
    const [found] = step([value]);
    if (comparison === undefined) return found !== undefined && found !== null;
    if (found === undefined) return false;
    return COMPARISONS[comparison]?.(orderOf(found, wanted)) === true;
  };
  return (values) => children(values).filter(holds);
}

/** Numbers compare as numbers, all else as text. */
function orderOf(value: unknown, wanted: string): number {
  if (typeof value === "number") return value - Number(wanted);
  const text = jsonText(value);
  if (text === wanted) return 0;
  return text < wanted ? -1 : 1;
}

function fieldStep(name: string): JsonPath {
  const isOf = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, name);
  return (values) => values.flatMap((value) => (isOf(value) ? present(value[name]) : []));
}

const children: JsonPath = (values) =>
  values.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []));

const descend: JsonPath = (values) => values.flatMap((value) => [value, ...descend(children([value]))]);

function present(value: unknown): unknown[] {
  return value === undefined ? [] : [value];
}

/** A value as text: a string without quotes, anything else as JSON. */
export function jsonText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
