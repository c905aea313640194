/** The same requests to the embedded API and to a real kube-apiserver give the same responses and events. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeObject, Wire } from "../../../protocols/ports.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { type KubeApiserver, startKubeApiserver } from "../../support/kube-apiserver.ts";
import { describeWithKube } from "../../support/kube-assets.ts";
import { until } from "../../support/until.ts";
import { CONVERSATION, type Turn } from "./conversation.ts";

/** One server and its responses so far. */
class Party {
  readonly #wire: Wire;
  readonly #answered = new Map<string, KubeObject>();

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  async take(turn: Turn): Promise<{ status: number; object: KubeObject }> {
    const { method, path, as } = turn;
    const body = turn.from === undefined ? turn.body : turn.from(this.#answered);
    const { status, text } = await this.#send(method, path, as === undefined ? "json" : `${as}+json`, body);
    const object = JSON.parse(text);
    if (status < 300) this.#answered.set(path, object);
    return { status, object };
  }

  /** The events of a kind since a resourceVersion, from a watch of one second. */
  async events(path: string, since: string): Promise<KubeObject[]> {
    const query = `watch=true&timeoutSeconds=1&resourceVersion=${since}`;
    const { text } = await this.#send("GET", `${path}?${query}`, "json", undefined);
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  }

  #send(method: string, path: string, type: string, body: unknown): Promise<{ status: number; text: string }> {
    const headers = { "content-type": `application/${type}`, accept: "application/json" };
    const request = { method, path, headers, body: body === undefined ? null : JSON.stringify(body) };
    return new Promise((resolve, reject) => {
      let [status, text] = [0, ""];
      this.#wire.send(request, {
        response: (code) => {
          status = code;
        },
        data: (chunk) => {
          text += Buffer.from(chunk).toString();
        },
        end: () => resolve({ status, text }),
        failed: ({ message }) => reject(new Error(message)),
      });
    });
  }
}

const INCIDENTALS: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "TIME"],
  [/"resourceVersion":"\d+"/g, '"resourceVersion":"VERSION"'],
];

/** A response without meaningless differences between servers, its fields in one order. */
function normal(value: unknown, { inOwnWords = false } = {}): unknown {
  const kept = (field: string, inner: unknown): unknown => {
    if (["managedFields", "selfLink"].includes(field)) return undefined;
    return inOwnWords && ["message", "causes"].includes(field) ? undefined : inner;
  };
  const text = INCIDENTALS.reduce(
    (replaced, [pattern, word]) => replaced.replace(pattern, word),
    JSON.stringify(value, kept),
  );
  return JSON.parse(text);
}

describeWithKube("the embedded API and the real one", () => {
  let server: KubeApiserver;
  let real: Party;
  const embedded = new Party(new ApiServer({ clock: realClock(), random: systemRandom }).wire);
  const start = { real: "", embedded: "" };
  beforeAll(async () => {
    server = await startKubeApiserver();
    real = new Party(server.wire());
    for (const [name, party] of [
      ["real", real],
      ["embedded", embedded],
    ] as const) {
      const { object } = await party.take({ method: "GET", path: "/api/v1/nodes" });
      start[name] = object.metadata.resourceVersion ?? "";
    }
  });
  afterAll(() => server.stop());

  const turns = CONVERSATION.map((turn, index) => ({ index, ...turn }));
  test.each(turns)("answer alike: $index $method $path", async (turn) => {
    const [ours, theirs] = await Promise.all([embedded.take(turn), real.take(turn)]);
    expect(normal(ours, turn)).toEqual(normal(theirs, turn));
  });

  test.each(["/api/v1/nodes", "/api/v1/pods", "/api/v1/events", "/apis/coordination.k8s.io/v1/leases"])(
    "send the same events of %s",
    async (path) => {
      const ours = await embedded.events(path, start.embedded);
      expect(ours.length).toBeGreaterThan(0);
      let theirs: readonly KubeObject[] = [];
      // A busy server may not send everything within a second; each watch starts from the beginning.
      await until("the real one has sent as many", async () => {
        theirs = await real.events(path, start.real);
        return theirs.length >= ours.length;
      }).catch(() => undefined);
      expect(normal(ours)).toEqual(normal(theirs));
    },
  );
});
