/** `vigil run`: runs all or some services of the controller against a real cluster. */
import { parseRun, printConfig, RUN_ALIASES, RUN_SECTIONS } from "../../platform/config/config.ts";
import { runProcess } from "../run/run-process.ts";
import { readNamedFile, type Verb } from "../verb.ts";

/** The verb that runs the controller. */
export const runVerb: Verb = {
  name: "run",
  summary: "run the controller against a cluster",
  words: "",
  firstWords: [],
  liveNames: new Map(),
  sections: RUN_SECTIONS,
  aliases: RUN_ALIASES,
  examples: [
    { command: "vigil run --shadow", does: "watches the current cluster and logs what it would do, writing nothing" },
    { command: "vigil run --listen=:8080", does: "runs every service in one process, with a dashboard on port 8080" },
    {
      command: "vigil run --nats=nats://127.0.0.1:4222",
      does: "the same on NATS; every further process takes its share of the shards",
    },
    {
      command: "vigil run --nats=nats://127.0.0.1:4222 --services=node,zone",
      does: "a process for two of the services",
    },
    {
      command: "vigil run --node-monitor-grace-period=40s --enable-taint-manager=false",
      does: "accepts flags of kube-controller-manager as they are",
    },
  ],
  start: async (argv, host) => {
    const { config, printConfig: printOnly, remarks } = parseRun(argv, (path) => readNamedFile(host, "config", path));
    for (const remark of remarks) host.warn(`vigil: ${remark}\n`);
    if (!printOnly) return runProcess(config, host);
    host.print(printConfig(config));
    return 0;
  },
};
