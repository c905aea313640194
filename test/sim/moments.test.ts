/** Moments strike exactly the message or the request that they wait for, once. */
import { expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { encode, subjectFor } from "../../protocols/wire.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { FaultyApiServer } from "../support/faulty-apiserver.ts";
import { WRITER_HEADER } from "./faulty-wire.ts";
import { atMessage, atRequest, messageMoment } from "./moments.ts";
import { Network } from "./network.ts";

const RESYNC = messageMoment("request", "asked.resync", ({ reason }) => reason === "wanted");

function stage() {
  const clock = new VirtualClock();
  const api = new FaultyApiServer({ clock, random: () => 0.5 });
  const network = new Network({ clock, chance: () => () => 0.5 });
  const processes = [{ name: "p1" }, { name: "p2" }];
  const reach = { world: { api }, network, processes };
  const received: string[] = [];
  const [first, second] = processes.map(({ name }) => {
    const link = network.link({ name: `${name}/1`, member: name, read: (take) => take() });
    link.subscribe("vigil.v1.sim.asked.resync.*", (payload) => {
      received.push(`${name} ${JSON.parse(new TextDecoder().decode(payload)).body.reason}`);
    });
    return link;
  });
  if (first === undefined || second === undefined) throw new Error("there are two links");
  const publish = (reason: string): void => {
    const body: BodyOf<"asked.resync"> = { shard: 1, reason };
    const frame = { type: "asked.resync", id: "a:1:asked.resync.1:1", source: "zone@p1", at: 0, cause: null } as const;
    first.publish(subjectFor("sim", "asked.resync", body), encode({ ...frame, body }));
    clock.advance(10);
  };
  const get = (): string[] => {
    const answers: string[] = [];
    const headers = { [WRITER_HEADER]: "p2" };
    api.wire.send(
      { method: "GET", path: "/api/v1/nodes/a", headers, body: null },
      {
        response: (status) => answers.push(String(status)),
        data: () => {},
        end: () => {},
        failed: ({ message }) => answers.push(message),
      },
    );
    clock.advance(10);
    return answers;
  };
  return { reach, received, publish, get };
}

test("the second message of a kind is lost to one process alone", () => {
  const { reach, received, publish } = stage();
  const senders: string[] = [];
  atMessage(reach, RESYNC, 2, (_, { name }) => {
    senders.push(name);
    return { pass: (member, deliver) => (member === "p2" ? undefined : deliver()) };
  });
  for (const reason of ["wanted", "another", "wanted", "wanted"]) publish(reason);
  expect(senders).toEqual(["p1"]);
  expect(received).toHaveLength(7);
  expect(received.filter((each) => each === "p2 wanted")).toHaveLength(2);
});

test("a moment that is disarmed strikes nothing", () => {
  const { reach, received, publish } = stage();
  atMessage(reach, RESYNC, 1, () => ({ pass: () => {} }))();
  publish("wanted");
  expect(received).toEqual(["p1 wanted", "p2 wanted"]);
});

test("the reply of the second request of a kind is lost", () => {
  const { reach, get } = stage();
  const moment = { name: "read", isIt: ({ verb }: { verb: string }) => verb === "get" };
  const senders: string[] = [];
  const disarm = atRequest(reach, moment, 2, ({ name }) => {
    senders.push(name);
    return "lostReply";
  });
  expect([get(), get(), get()]).toEqual([["404"], ["read ECONNRESET"], ["404"]]);
  expect(senders).toEqual(["p2"]);
  disarm();
});
