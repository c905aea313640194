/** `vigil playground`: a cluster of hollow nodes with Vigil on it, and a narrated story of failures. */
import { PLAYGROUND_SETTINGS } from "../playground/playground-settings.ts";
import { defineVerb, type Verb } from "../verb.ts";

/** The verb that plays. */
export const playgroundVerb: Verb = defineVerb({
  name: "playground",
  summary: "see it work: a cluster of hollow nodes, Vigil on it, and a story of failures, in about two minutes",
  settings: PLAYGROUND_SETTINGS,
  examples: [
    { command: "vigil playground --interactive", does: "takes keys that break things, until q is pressed" },
    { command: "vigil playground", does: "plays the story and ends" },
    { command: "vigil playground --serve", does: "keeps the cluster up for kubectl and tells no story" },
  ],
  // Loaded when it is wanted: no other verb needs the embedded API.
  run: async (values, _words, host) => (await import("../playground/play.ts")).runPlayground(values, host),
});
