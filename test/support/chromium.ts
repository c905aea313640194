/** A real headless Chromium, driven over its debugging protocol. It knows nothing of the page. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describeUnless } from "./describe-unless.ts";
import { until } from "./until.ts";

/** What a test prints when there is no Chromium. */
const CHROMIUM_MISSING = "chromium not found: apt-get install chromium";
const STARTED_WITHIN_MS = 30_000;
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"];

/** The path of Chromium; null when it is not installed. */
function findChromium(): string | null {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const places = folders.flatMap((folder) => [join(folder, "chromium"), join(folder, "google-chrome")]);
  return places.find((place) => existsSync(place)) ?? null;
}

/**
 * A suite that needs Chromium. Without it the suite is skipped with a line on how to get it; where CI is set it fails.
 */
export function describeWithChromium(name: string, suite: () => void): void {
  describeUnless(findChromium() === null ? CHROMIUM_MISSING : null, name, suite);
}

/** The keys by name, with the code of each and what it types. */
const KEYS = { Tab: [9], Enter: [13, "\r"], "1": [49, "1"] } as const;

/** An open page. */
export interface Page {
  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T>;
  /** Shows the page as a screen of this width, in pixels, and this colour scheme does. */
  show(width: number, scheme: "light" | "dark"): Promise<void>;
  /** Loads the page again as for a user in this time zone. */
  moveTo(timeZone: string): Promise<void>;
  /** Presses Tab, Enter or a digit. */
  press(key: keyof typeof KEYS): Promise<void>;
  /** How much processor time the page's tasks have taken so far, in milliseconds. */
  busyMs(): Promise<number>;
  /** The upper part of the page, at most this many pixels high, as a WebP picture. */
  picture(height: number): Promise<Buffer>;
  /** Every exception, and everything the browser reported. */
  readonly problems: readonly string[];
  close(): Promise<void>;
}

/** Opens a page in a browser of its own. */
export async function openPage(url: string): Promise<Page> {
  const folder = mkdtempSync(join(tmpdir(), "chromium-"));
  const args = [...FLAGS, `--user-data-dir=${folder}`, "about:blank"];
  const browser = spawn(findChromium() ?? "chromium", args, { stdio: ["ignore", "ignore", "pipe"] });
  const session = await Session.start(await debuggerOf(browser));
  for (const domain of ["Runtime", "Log", "Page"]) await session.call(`${domain}.enable`);
  // Processor time, because elapsed time depends on what else the machine does.
  await session.call("Performance.enable", { timeDomain: "threadTicks" });
  await session.call("Page.navigate", { url });
  return {
    problems: session.problems,
    async evaluate<T>(expression: string) {
      const { result } = await session.call("Runtime.evaluate", {
        expression,
        returnByValue: true,
        awaitPromise: true,
      });
      return (result as { value: T }).value;
    },
    async show(width, scheme) {
      const screen = { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 };
      await session.call("Emulation.setDeviceMetricsOverride", screen);
      await session.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    },
    async moveTo(timezoneId) {
      await session.call("Emulation.setTimezoneOverride", { timezoneId });
      await session.call("Page.reload");
    },
    async press(key) {
      const [code, text = ""] = KEYS[key];
      const event = { key, code: key, windowsVirtualKeyCode: code, ...(text === "" ? {} : { text }) };
      await session.call("Input.dispatchKeyEvent", { type: "keyDown", ...event });
      await session.call("Input.dispatchKeyEvent", { type: "keyUp", ...event });
    },
    async busyMs() {
      const { metrics } = (await session.call("Performance.getMetrics")) as {
        metrics: { name: string; value: number }[];
      };
      return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1000;
    },
    async picture(height) {
      const format = { format: "webp", quality: 60, captureBeyondViewport: true };
      const { cssContentSize: size } = (await session.call("Page.getLayoutMetrics")) as {
        cssContentSize: { width: number; height: number };
      };
      const clip = { x: 0, y: 0, width: size.width, height: Math.min(height, size.height), scale: 1 };
      const { data } = await session.call("Page.captureScreenshot", { ...format, clip });
      return Buffer.from(data as string, "base64");
    },
    async close() {
      const ended = new Promise((resolve) => browser.once("exit", resolve));
      browser.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The address at which the browser's first page is driven. */
async function debuggerOf(browser: ChildProcess): Promise<string> {
  const port = await new Promise<string>((resolve, reject) => {
    let said = "";
    const late = setTimeout(() => reject(new Error(`chromium did not start: ${said}`)), STARTED_WITHIN_MS);
    browser.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const found = /ws:\/\/[^:]+:(\d+)\//.exec(said)?.[1];
      if (found === undefined) return;
      clearTimeout(late);
      resolve(found);
    });
  });
  // The browser listens before its first page exists.
  let address: string | undefined;
  await until("chromium has a page", async () => {
    const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as Record<string, string>[];
    address = targets.find(({ type }) => type === "page")?.webSocketDebuggerUrl;
    return address !== undefined;
  });
  return address ?? "";
}

type Reply = Readonly<Record<string, unknown>>;

class Session {
  readonly problems: string[] = [];
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #calls = 0;

  static async start(address: string): Promise<Session> {
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", () => reject(new Error(`chromium cannot be driven at ${address}`)));
    });
    return new Session(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(String(data))));
  }

  call(method: string, params: Reply = {}): Promise<Reply> {
    return new Promise((resolve) => {
      this.#waiting.set(++this.#calls, resolve);
      this.#socket.send(JSON.stringify({ id: this.#calls, method, params }));
    });
  }

  #receive({ id, result, method, params }: { id?: number; result?: Reply; method?: string; params?: Reply }): void {
    if (id !== undefined) this.#waiting.get(id)?.(result ?? {});
    if (method === "Runtime.exceptionThrown" || method === "Log.entryAdded") this.problems.push(JSON.stringify(params));
  }
}
