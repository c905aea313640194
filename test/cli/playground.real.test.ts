/** Plays the playground's story through the program itself, which takes half a minute. */
import { expect, test } from "vitest";
import { PLAYGROUND_PROFILE } from "../../services/cli/playground-cluster.ts";
import { playgroundVerb } from "../../services/cli/verbs/playground.ts";
import { storyOf } from "../../services/sandbox/playground/story.ts";
import { fakeHost } from "./fake-host.ts";

const LONG = { timeout: 180_000 };

test("plays for real, narrated, with a kubeconfig, a final table and exit code 0", LONG, async () => {
  const host = fakeHost();
  const argv = ["--pause=0s", "--write-kubeconfig=play.kubeconfig"];
  expect(await playgroundVerb.start(argv, host)).toBe(0);
  expect(host.files.get("play.kubeconfig")).toMatch(/server: http:\/\/127\.0\.0\.1:\d+/);
  expect(host.out()).toContain("kubectl --kubeconfig=play.kubeconfig get nodes");
  for (const { begins } of storyOf(PLAYGROUND_PROFILE.nodeMonitorGraceMs))
    expect(host.out().replace(/\n\s+/g, " ")).toContain(begins);
  expect(host.out()).toMatch(/nodes judged Unknown +15\n/);
  expect(host.out()).toMatch(/writes that failed +0\n/);
  expect(host.err()).toBe("");
});
