/** Opens the dashboard of a hand-fed ledger in a real browser, and reads what it shows. */
import { expect } from "vitest";
import type { Policies } from "../../protocols/ports.ts";
import { SNAPSHOT_MS } from "../../services/console/console.events.ts";
import { type RunningConsole, startConsole } from "../../services/console/console.http.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { type LedgerWorld, ledgerWorld } from "../ledger/ledger-world.ts";
import { openPage, type Page } from "../support/chromium.ts";
import { until } from "../support/until.ts";

/** The console of the dashboard. */
export let served: RunningConsole;
/** The page that shows it. */
export let page: Page;

/** Ends both, after each test. */
export async function closeDashboard(): Promise<void> {
  await page.close();
  await served.close();
}

interface Opened {
  /** The view at first. */
  readonly at?: string;
  readonly standby?: () => string | null;
  readonly shadow?: boolean;
  readonly beside?: boolean;
  readonly grafanaUrl?: string;
  readonly policies?: Policies;
}

/** The only member of the fleet. */
const MEMBER = { member: "m-0", services: ["ledger"], since: 0, lagMs: 3, unableSince: null, withheld: [], shards: 64 };

/** Opens the dashboard in a browser of its own. */
export async function openDashboard({
  at = "",
  shadow = false,
  beside = false,
  grafanaUrl,
  policies,
  standby = () => null,
}: Opened = {}): Promise<LedgerWorld> {
  const world = ledgerWorld({ isShadow: shadow, ...(policies && { policies }) });
  const { clock, transport, metrics, io, ledger } = world;
  const identity = { cluster: "test", service: "console", member: "m-0" };
  const about = { cluster: "test", member: "m-0", services: [], shadow, beside, version: "0.0.0" };
  served = await startConsole({ host: "127.0.0.1", port: 0, clock, log: io.log, metrics });
  served.show({
    clock,
    bus: typedBus({ ...identity, transport, clock, log: io.log, metrics, mailboxMessagesMax: 1000 }),
    profile: io.profile,
    about: { ...about, ...(grafanaUrl === undefined ? {} : { grafanaUrl }) },
    ledger: ledger.reader,
    fleet: async () => [MEMBER],
    standby,
  });
  page = await openPage(`${served.url}/${at}`);
  return world;
}

/** Goes to the view of an address, such as `#/nodes`. */
export async function visit(address: string): Promise<void> {
  const change = `new Promise((resolve) => {
    addEventListener("hashchange", () => setTimeout(resolve), { once: true });
    location.hash = ${JSON.stringify(address)};
  })`;
  await page.evaluate(change);
}

/** Waits until the text of an element matches a pattern; meanwhile the clock advances, so that the stream sends. */
export async function shows(id: string, pattern: RegExp, clock?: LedgerWorld["clock"]): Promise<void> {
  let text = "";
  const isShown = async (): Promise<boolean> => {
    // A page that loads again cannot answer for a moment.
    const shown = page.evaluate<string>(`document.getElementById("${id}")?.innerText ?? ""`);
    text = await shown.catch(() => "");
    if (!pattern.test(text)) clock?.advance(SNAPSHOT_MS);
    return pattern.test(text);
  };
  await until(`${id} shows ${pattern}`, isShown, { everyMs: 50 }).catch(() => undefined);
  expect(text).toMatch(pattern);
}
