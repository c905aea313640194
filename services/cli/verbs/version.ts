/** `vigil version`: prints the release and the protocol version. */
import packageJson from "../../../package.json" with { type: "json" };
import { FRAME_VERSION } from "../../../protocols/frame.ts";
import { defineVerb, type Verb } from "../verb.ts";

/** The verb that prints the version. */
export const versionVerb: Verb = defineVerb({
  name: "version",
  summary: "print the version",
  settings: {},
  examples: [{ command: "vigil version", does: "prints the release and the version of its wire format" }],
  run: async (_values, _words, host) => {
    host.print(`vigil ${packageJson.version} (protocol v${FRAME_VERSION})\n`);
    return 0;
  },
});
