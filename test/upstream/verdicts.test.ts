/** Shows how the reports of upstream's test programs are read. */
import { expect, test } from "vitest";
import { goTestCases, junitCases } from "./verdicts.ts";

const verdictsOf = (cases: ReturnType<typeof goTestCases>) => cases.map(({ name, verdict }) => [name, verdict]);

test("each subtest of a Go test is a case, and the test around them is none", () => {
  const output = [
    "=== RUN   TestA",
    "=== RUN   TestA/one",
    "    a_test.go:12: node test-1 has no taint",
    "=== RUN   TestA/two",
    "=== RUN   TestA/three",
    "=== RUN   TestB",
    "--- FAIL: TestA (3.00s)",
    "    --- FAIL: TestA/one (1.00s)",
    "    --- PASS: TestA/two (1.00s)",
    "    --- SKIP: TestA/three (0.00s)",
    "--- PASS: TestB (1.00s)",
    "FAIL",
    "",
  ].join("\n");
  expect(verdictsOf(goTestCases(output))).toEqual([
    ["TestA/one", "failed"],
    ["TestA/two", "passed"],
    ["TestA/three", "skipped"],
    ["TestB", "passed"],
  ]);
  expect(goTestCases(output)[0]?.detail).toBe("a_test.go:12: node test-1 has no taint");
});

test("a Go test that began and did not end has failed", () => {
  const output = "=== RUN   TestA\n=== RUN   TestA/one\npanic: test timed out after 10m0s\n";
  expect(goTestCases(output)).toEqual([
    { name: "TestA/one", verdict: "failed", detail: "panic: test timed out after 10m0s" },
  ]);
});

test.each([
  ["1", "", '<failure type="Failure">a &lt;pod&gt; &#34;x&#34;</failure><system-out>log</system-out>'],
  ["2", "[It] ", '<failure message="m" type="failed">a &lt;pod&gt; &#34;x&#34;</failure><system-err>log</system-err>'],
])("the specs of a report of Ginkgo %s are those in focus", (_version, prefix, failure) => {
  const xml = `<testsuite tests="4">
    <testcase name="${prefix}[sig-node] Taints removes [Serial]" classname="e2e" time="66.3"></testcase>
    <testcase name="${prefix}[sig-node] Taints evicts [Serial]" classname="e2e" time="6.3">${failure}</testcase>
    <testcase name="${prefix}[sig-node] Taints waits" classname="e2e" time="0"><skipped message="s"></skipped></testcase>
    <testcase name="${prefix}[sig-apps] Jobs" classname="e2e" time="0"><skipped></skipped></testcase>
    <testcase name="[SynchronizedBeforeSuite]" status="passed" time="0.1"/>
  </testsuite>`;
  const cases = junitCases(xml, "Taints");
  expect(verdictsOf(cases)).toEqual([
    ["[sig-node] Taints removes [Serial]", "passed"],
    ["[sig-node] Taints evicts [Serial]", "failed"],
    ["[sig-node] Taints waits", "skipped"],
  ]);
  expect(cases[1]?.detail).toContain('a <pod> "x"');
});

test("a failure of Ginkgo begins with its message, not with its place", () => {
  const failure =
    '<failure type="Failure">/go/framework.go:629&#xA;&#xA;Pod wasn&#39;t evicted&#xA;/go/taints.go:355</failure>';
  const [spec] = junitCases(`<testcase name="Taints evicts">${failure}</testcase>`, "Taints");
  expect(spec?.detail.split("\n")).toEqual(["Pod wasn't evicted", "/go/taints.go:355", "/go/framework.go:629"]);
});
