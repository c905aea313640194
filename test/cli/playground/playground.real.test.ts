/** Plays the playground's story through the program itself, which takes over a minute. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PLAYGROUND_PROFILE } from "../../../services/cli/playground/playground-members.ts";
import { playgroundVerb } from "../../../services/cli/verbs/playground.ts";
import { requestLine } from "../../../services/platform/process/line-socket.ts";
import { storyOf } from "../../../services/sandbox/playground/story.ts";
import { until } from "../../support/until.ts";
import { fakeHost } from "../fake-host.ts";

const LONG = { timeout: 200_000 };

test("plays for real, narrated, with a kubeconfig and a table", LONG, async () => {
  const host = fakeHost();
  expect(await playgroundVerb.start(["--pause=0s", "--write-kubeconfig=play.kubeconfig"], host)).toBe(0);
  expect(host.files.get("play.kubeconfig")).toMatch(/server: http:\/\/127\.0\.0\.1:\d+/);
  expect(host.out()).toContain("kubectl --kubeconfig=play.kubeconfig get nodes");
  expect(host.out()).toContain("To break things yourself: vigil playground --interactive\n");
  for (const { begins } of storyOf(PLAYGROUND_PROFILE.nodeMonitorGraceMs))
    expect(host.out().replace(/\n\s+/g, " ")).toContain(begins);
  expect(host.out()).toMatch(/nodes judged Unknown +18\n/);
  expect(host.out()).toMatch(/writes that failed +0\n/);
  expect(host.err()).toBe("");
});

test("with --serve says at once what one may break, takes orders and tells no story", LONG, async () => {
  const host = fakeHost();
  const socket = join(mkdtempSync(join(tmpdir(), "playground-")), "play.sock");
  const argv = ["--write-kubeconfig=play.kubeconfig", "--serve", `--socket=${socket}`];
  const ended = playgroundVerb.start(argv, host);
  await until("the orders are printed", () => host.out().includes("Break something"));
  const order = JSON.stringify({ order: "stop", selector: { zone: "zone-b" } });
  expect(JSON.parse(await requestLine(socket, order))).toMatchObject({
    reached: 20,
    summary: { nodes: 60, stopped: 20 },
  });
  expect(host.out()).toContain(`vigil hollow stop --zone=zone-b --socket=${socket}\n`);
  expect(host.out()).toContain("kubectl --kubeconfig=play.kubeconfig delete node node-c-01\n");
  expect(host.out()).toMatch(
    /Ask why:\n {2}export VIGIL_SERVER=http:\/\/127\.0\.0\.1:\d+\n {2}vigil explain node node-b-01\n/,
  );
  expect(host.out()).toContain(
    "  export KUBECONFIG=play.kubeconfig\n  vigil freeze --all --reason=trial\n  vigil thaw --all\n",
  );
  expect(host.out()).toMatch(/ {2}vigil preview --zone=zone-c --down --server=http:\/\/127\.0\.0\.1:\d+\n/);
  expect(host.out()).not.toContain("60 nodes join");
  host.stop();
  expect(await ended).toBe(0);
});
