/** What upstream's test programs report about their cases, read from what they print or write. */

/** One case of upstream's, and how it ended. */
export interface UpstreamCase {
  readonly name: string;
  readonly verdict: "passed" | "failed" | "skipped";
  /** What the program reports about a failure. */
  readonly detail: string;
}

const GO_VERDICTS = { PASS: "passed", FAIL: "failed", SKIP: "skipped" } as const;

/**
 * The cases in the output of a Go test program that was started with `-test.v`. A test with subtests is no case of its
 * own, because its subtests are; a test that began and did not end has failed.
 */
export function goTestCases(output: string): UpstreamCase[] {
  const begun = [...output.matchAll(/^=== RUN +(\S+)/gm)].map(([, name = ""]) => name);
  const ended = new Map(
    [...output.matchAll(/^ *--- (PASS|FAIL|SKIP): (\S+)/gm)].map(([, word, name = ""]) => [
      name,
      GO_VERDICTS[word as keyof typeof GO_VERDICTS],
    ]),
  );
  const cases = begun.filter((name) => !begun.some((other) => other.startsWith(`${name}/`)));
  return cases.map((name) => {
    const verdict = ended.get(name) ?? "failed";
    return { name, verdict, detail: verdict === "failed" ? goFailure(output, name) : "" };
  });
}

/** What a test printed, from its beginning to that of the next. */
function goFailure(output: string, name: string): string {
  const [, printed = ""] = output.split(`=== RUN   ${name}\n`);
  return printed.split(/^=== RUN /m)[0]?.trim() ?? "";
}

/**
 * The cases in a JUnit report of Ginkgo, version 1 or 2, whose name contains `focus`; the others did not run.
 */
export function junitCases(xml: string, focus: string): UpstreamCase[] {
  return [...xml.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)]
    .map(([, attributes = "", body = ""]): UpstreamCase => {
      const name = unescaped(/\bname="([^"]*)"/.exec(attributes)?.[1] ?? "").replace(/^\[It\] /, "");
      const problem = /<(?:failure|error)\b[\s\S]*?<\/(?:failure|error)>/.exec(body)?.[0];
      if (problem !== undefined) return { name, verdict: "failed", detail: junitFailure(unescaped(problem)) };
      return { name, verdict: body.includes("<skipped") ? "skipped" : "passed", detail: "" };
    })
    .filter(({ name }) => name.includes(focus));
}

/** A failure with its message first: Ginkgo begins with the place of the spec, which is the same for all of them. */
function junitFailure(element: string): string {
  const text = element.replace(/^<\w+[^>]*>|<\/\w+>$/g, "");
  const [place = "", ...message] = text.split("\n");
  const first = message.findIndex((line) => line.trim() !== "");
  return first < 0 ? text : [...message.slice(first), place].join("\n");
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function unescaped(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9A-Fa-f]+)|(\w+));/g, (entity, decimal, hexadecimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? entity;
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal));
  });
}
