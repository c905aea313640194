/** The table of verbs: the source of the command line, the help and the completions. */
import { realClock } from "../platform/process/clock.real.ts";
import type { Verb } from "./verb.ts";
import { agentVerb } from "./verbs/agent.ts";
import { apiserverVerb } from "./verbs/apiserver.ts";
import { compareVerb } from "./verbs/compare.ts";
import { completionVerb } from "./verbs/completion.ts";
import { explainVerb } from "./verbs/explain.ts";
import { freezeVerb, thawVerb } from "./verbs/freeze.ts";
import { getVerb } from "./verbs/get.ts";
import { hollowVerb } from "./verbs/hollow.ts";
import { machineVerb } from "./verbs/machine.ts";
import { playgroundVerb } from "./verbs/playground.ts";
import { previewVerb } from "./verbs/preview.ts";
import { proveDownVerb } from "./verbs/prove-down.ts";
import { rbacVerb } from "./verbs/rbac.ts";
import { rescueVerb } from "./verbs/rescue.ts";
import { runVerb } from "./verbs/run.ts";
import { topVerb } from "./verbs/top.ts";
import { versionVerb } from "./verbs/version.ts";
import { watchVerb } from "./verbs/watch.ts";

/** Every verb, in the order of the help. */
export const VERBS: readonly Verb[] = [
  runVerb,
  playgroundVerb,
  getVerb(realClock()),
  explainVerb,
  topVerb(realClock()),
  watchVerb(realClock()),
  freezeVerb,
  thawVerb,
  proveDownVerb,
  rescueVerb,
  rbacVerb,
  previewVerb,
  compareVerb,
  agentVerb,
  hollowVerb,
  apiserverVerb,
  machineVerb,
  versionVerb,
  completionVerb(() => VERBS),
];
