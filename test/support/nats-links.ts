/** Connections of a test to real NATS servers, closed with their servers when the test ends. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { connectNats, type NatsOptions, type NatsTransport } from "../../services/platform/bus/nats.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { type NatsServer, type NatsServerOptions, startNatsServer } from "./nats-server.ts";
import { recordingLog } from "./recording-log.ts";
import { until } from "./until.ts";

/** The machine's clock. */
export const clock = realClock();

const cleanups: (() => unknown)[] = [];

/** Runs something when the present test ends; the last registered runs first. */
export function atEnd(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Starts a server for the present test. */
export async function serve(options: NatsServerOptions = {}): Promise<NatsServer> {
  const server = await startNatsServer(options);
  atEnd(() => server.stop());
  return server;
}

/** A connection with its log and metrics. */
export interface Link {
  readonly transport: NatsTransport;
  readonly log: ReturnType<typeof recordingLog>;
  readonly metrics: ReadableMetrics;
}

/** Connects for the present test. */
export async function link(url: string, options: Partial<NatsOptions> = {}): Promise<Link> {
  const log = recordingLog();
  const metrics = createMetrics();
  const transport = await connectNats({ servers: [url], name: "test", clock, log, metrics, ...options });
  atEnd(() => transport.close());
  return { transport, log, metrics };
}

/** A folder for the present test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "vigil-nats-"));
  atEnd(() => rmSync(path, { recursive: true }));
  return path;
}

/** What arrives on a subject from now on, as text. */
export function hear(transport: NatsTransport, subject: string): string[] {
  const heard: string[] = [];
  transport.subscribe(subject, (payload) => heard.push(new TextDecoder().decode(payload)));
  return heard;
}

/** Publishes a text. */
export function say(transport: NatsTransport, subject: string, text: string): void {
  transport.publish(subject, new TextEncoder().encode(text));
}

/** Resolves when a message has come back to its sender. */
export async function echoes(transport: NatsTransport): Promise<void> {
  const heard = hear(transport, "echo");
  say(transport, "echo", "hello");
  await until("the message comes back", () => heard.length > 0);
}
