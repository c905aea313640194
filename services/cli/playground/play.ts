/** The process of `vigil playground`: starts the cluster, plays the story, and with `--serve` keeps both up. */
import type { Clock } from "../../../protocols/ports.ts";
import { parseAddress } from "../../platform/config/address.ts";
import { realClock } from "../../platform/process/clock.real.ts";
import { answerLines } from "../../platform/process/line-socket.ts";
import { createLog } from "../../platform/process/log.ts";
import { systemRandom } from "../../platform/process/random.ts";
import { obey } from "../../sandbox/hollow/control.ts";
import { play } from "../../sandbox/playground/stage.ts";
import { storyOf } from "../../sandbox/playground/story.ts";
import { closingTable, LiveView, picture, storyLine } from "../../sandbox/playground/view.ts";
import { serveApi } from "../apiserver/served-api.ts";
import { SERVER_VARIABLE } from "../connect/console-client.ts";
import { HOLLOW_SOCKET } from "../hollow/order.ts";
import { openConsole, showOn } from "../run/open-console.ts";
import { Failure, type Host, untilStopped } from "../verb.ts";
import { playInteractively, requireTerminal } from "./interactive.ts";
import { type Playground, startPlayground } from "./playground-cluster.ts";
import { PLAYGROUND_PROFILE } from "./playground-members.ts";
import type { PlaygroundSettings } from "./playground-settings.ts";

const REDRAW_MS = 250;
const GRACES = "Grace periods are shortened to fit in two minutes: a node may be silent for 6 s here, 50 s by default.";

/**
 * Plays the story, handles keys, or with `serve` keeps the cluster up until the process is stopped. Throws a Failure.
 */
export async function runPlayground(values: PlaygroundSettings, host: Host): Promise<number> {
  if (values.console !== "") parseAddress(values.console, "console");
  if (values.interactive) requireTerminal(host);
  const clock = realClock();
  const log = createLog({ level: "error", format: "auto" });
  const playground = startPlayground({ clock, random: systemRandom, log });
  const { front, kubeconfig } = await serveApi(playground.apiserver, values, host);
  const dashboard = await openConsole({ listen: values.console, flag: "console" }, playground.parts);
  showOn(dashboard, false, playground, host);
  const served = { playground, clock, kubeconfig, dashboard: dashboard?.url ?? null };
  try {
    if (values.interactive) await playByKeys(served, values, host);
    else await (values.serve ? stayUp(served, values, host) : playStory(served, values, host));
  } finally {
    playground.stop();
    await Promise.all([front.close(), dashboard?.close()]);
  }
  return 0;
}

/** A playground with what reaches it from outside. */
interface ServedPlayground {
  readonly playground: Playground;
  readonly clock: Clock;
  readonly kubeconfig: string;
  /** Where the dashboard is; null for nowhere. */
  readonly dashboard: string | null;
}

async function playByKeys(
  { playground, clock, kubeconfig, dashboard }: ServedPlayground,
  values: PlaygroundSettings,
  host: Host,
): Promise<void> {
  const orders = values.serve ? await takeOrders(playground, values.socket) : null;
  const why = `export ${SERVER_VARIABLE}=${dashboard}; ${programName(host)} explain node node-a-01`;
  const head = [`kubectl --kubeconfig=${kubeconfig} get nodes`, ...(dashboard === null ? [] : [dashboard, why])];
  try {
    await playInteractively(playground, { clock, random: systemRandom, pauseMs: values.pauseMs, head }, host);
  } finally {
    await orders?.close();
  }
}

async function playStory(served: ServedPlayground, values: PlaygroundSettings, host: Host): Promise<void> {
  const own = `${playgroundCommand(host)} --interactive`;
  host.print(introduction(served, [GRACES, `To break things yourself: ${own}`]));
  const missing = await narrate(served.playground, served.clock, values, host);
  if (missing !== null) throw new Failure(`the story broke off: never saw ${missing}`);
}

/** Keeps the cluster up until the process is stopped, with nodes that accept orders. Throws a Failure. */
async function stayUp(served: ServedPlayground, { socket }: PlaygroundSettings, host: Host): Promise<void> {
  const orders = await takeOrders(served.playground, socket);
  host.print(introduction(served, [GRACES]));
  host.print(invitation(served, socket, host));
  await untilStopped(host);
  await orders.close();
}

/** Opens the socket of the hollow nodes. Throws a Failure. */
function takeOrders({ controls: { nodes } }: Playground, socket: string): ReturnType<typeof answerLines> {
  return answerLines(socket, (line) => obey(nodes, line)).catch((error: Error) => {
    throw new Failure(`--socket=${socket}: ${error.message}`);
  });
}

/** How to start this program again: neither a checkout nor npx has `vigil` on the path. */
function programName({ environment: { npm_lifecycle_event: script } }: Host): string {
  if (script === "npx") return "npx vigil";
  return script === undefined ? "vigil" : "npm run -s vigil --";
}

/** How to start a playground again. */
function playgroundCommand(host: Host): string {
  return host.environment.npm_lifecycle_event === "start" ? "npm start --" : `${programName(host)} playground`;
}

/** Commands that break something, say what Vigil thinks of it, stop evictions, and show what would be. */
function invitation({ kubeconfig, dashboard }: ServedPlayground, socket: string, host: Host): string {
  const vigil = programName(host);
  const at = socket === HOLLOW_SOCKET ? "" : ` --socket=${socket}`;
  const why =
    dashboard === null
      ? []
      : ["Ask why:", `  export ${SERVER_VARIABLE}=${dashboard}`, `  ${vigil} explain node node-b-01`];
  return [
    "The cluster stays up until you interrupt it. Break something, and look at the dashboard:",
    `  ${vigil} hollow stop --zone=zone-b${at}`,
    `  ${vigil} hollow flap 10s --node=node-a-07${at}`,
    `  kubectl --kubeconfig=${kubeconfig} delete node node-c-01`,
    ...why,
    "Stop evictions, let them go on, and see what another failure would do:",
    `  export KUBECONFIG=${kubeconfig}`,
    `  ${vigil} freeze --all --reason=trial`,
    `  ${vigil} thaw --all`,
    `  ${vigil} preview --zone=zone-c --down${dashboard === null ? "" : ` --server=${dashboard}`}`,
    `\`${vigil} hollow resume${at}\` brings them all back.`,
    "",
  ].join("\n");
}

function introduction({ kubeconfig, dashboard }: ServedPlayground, notes: readonly string[]): string {
  return [
    "An embedded Kubernetes API, 60 hollow nodes, and two members of Vigil, in one process. Watch it from outside:",
    `  kubectl --kubeconfig=${kubeconfig} get nodes -w`,
    `  kubectl --kubeconfig=${kubeconfig} get events -w`,
    ...(dashboard === null ? [] : [`  ${dashboard}  (the dashboard)`]),
    ...notes,
    "",
    "",
  ].join("\n");
}

/** Plays the story and prints it. Returns what the story waited for in vain; null at its end or on an interruption. */
async function narrate(
  { narration, controls }: Playground,
  clock: Clock,
  { pauseMs }: Pick<PlaygroundSettings, "pauseMs">,
  host: Host,
): Promise<string | null> {
  const begunMs = clock.monotonicMs();
  const elapsedMs = () => clock.monotonicMs() - begunMs;
  const view = host.interactive ? new LiveView((text) => host.print(text), host.columns) : null;
  const print = (line: string) => (view === null ? host.print(`${line}\n`) : view.line(line));
  const redraw = (): void => {
    view?.draw(["", ...picture(narration)]);
    timer = clock.after(REDRAW_MS, redraw);
  };
  let timer = clock.after(0, redraw);
  const scenes = storyOf(PLAYGROUND_PROFILE.nodeMonitorGraceMs);
  const say = (line: string) => print(storyLine(elapsedMs(), line, host.columns));
  const missing = await new Promise<string | null>((resolve) => {
    const breakOff = play({ clock, scenes, narration, controls, pauseMs, say }, resolve);
    void untilStopped(host).then(() => {
      breakOff();
      resolve(null);
    });
  });
  timer.cancel();
  if (view === null) for (const row of picture(narration)) print(row);
  for (const row of ["", ...closingTable(narration, elapsedMs())]) host.print(`${row}\n`);
  return missing;
}
