/** What each NATS role may publish and subscribe to, by the message table. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { NATS_ROLES, permissionsOf, rolesConfig } from "../../deploy/nats/roles.ts";
import { MESSAGES } from "../../protocols/messages.ts";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { matches, subjectOf } from "../../protocols/subjects.ts";
import { hearers, sayers, TYPES } from "./role-rights.ts";

const DEPLOYED = join(import.meta.dirname, "../../deploy/nats");

describe("with a user per process", () => {
  const processes = [
    { role: "reader", member: "r-0" },
    { role: "writer", member: "w-0" },
  ];

  test("each publishes its own pulse only, all else as its role", () => {
    for (const { role, member } of processes) {
      const [own, shared] = [permissionsOf(role, member), permissionsOf(role)];
      expect(own.subscribe).toEqual(shared.subscribe);
      const changed = own.publish.filter((subject) => !shared.publish.includes(subject));
      expect(changed).toEqual([`vigil.v1.*.pulse.member.*.${member}`]);
      expect(own.publish.length).toBe(shared.publish.length);
      const pulseOf = (name: string) => subjectOf("prod.eu", "pulse.member", 0, [name]);
      expect(matches(changed[0] ?? "", pulseOf(member))).toBe(true);
      expect(matches(changed[0] ?? "", pulseOf("other"))).toBe(false);
    }
  });

  test("only the inspector and the history have a role user", () => {
    const users = [...rolesConfig(processes).matchAll(/nkey: \$(\w+)/g)].map(([, variable]) => variable);
    expect(users).toEqual(["R_0_KEY", "W_0_KEY", "INSPECTOR_KEY", "HISTORY_KEY"]);
  });
});

test("roles.conf follows the message table; `npm run fix` writes it", () => {
  expect(readFileSync(join(DEPLOYED, "roles.conf"), "utf8")).toBe(rolesConfig());
});

describe("the roles", () => {
  test("only node and zone may ask for taints", () => {
    expect(sayers("asked.taint")).toEqual(["node", "zone", "reader", "cluster"]);
  });

  test("only node and taint-manager may ask for evictions", () => {
    expect(sayers("asked.eviction")).toEqual(["node", "taint-manager", "reader", "cluster"]);
  });

  test("only the observer may publish observations", () => {
    for (const type of TYPES.filter((name) => name.startsWith("observed."))) {
      expect(sayers(type)).toEqual(["observer", "reader", "cluster"]);
    }
  });

  test("only services that store observations of a shard may request a resync", () => {
    const keepers = ["node", "zone", "taint-manager", "pod-writer", "ledger", "policy"];
    expect(sayers("asked.resync")).toEqual([...keepers, "reader", "writer", "cluster"]);
  });

  test("only a writer may publish results", () => {
    expect(sayers("done.write")).toEqual(["node-writer", "pod-writer", "writer", "cluster"]);
  });

  test("let an inspector read all, and publish nothing but questions", () => {
    expect(permissionsOf("inspector")).toEqual({
      publish: ["$SRV.>", "vigil.v1.*.query.>"],
      subscribe: ["vigil.v1.*.>", "_INBOX.>"],
    });
    expect(TYPES.filter((type) => !hearers(type).includes("inspector"))).toEqual([]);
    expect(TYPES.filter((type) => sayers(type).includes("inspector"))).toEqual([]);
  });

  test("only roles with a ledger answer questions, and only to inboxes", () => {
    const answerers = NATS_ROLES.filter((role) => permissionsOf(role).publish.includes("_INBOX.>"));
    expect(answerers).toEqual(["ledger", "writer", "cluster"]);
    for (const role of NATS_ROLES) {
      const isAnswerer = permissionsOf(role).subscribe.some((subject) => subject.includes(".query."));
      expect(isAnswerer).toBe(answerers.includes(role));
    }
  });

  test("every service may publish and subscribe to what the table allows it", () => {
    for (const type of TYPES) {
      const { from, to } = MESSAGES[type];
      const said = from === "any" ? SERVICE_NAMES : from.split(", ");
      expect(sayers(type)).toEqual(expect.arrayContaining([...said]));
      const services = to.split(", ").filter((reader) => reader !== "fleet" && reader !== "console");
      expect(hearers(type)).toEqual(expect.arrayContaining(services));
    }
  });
});
