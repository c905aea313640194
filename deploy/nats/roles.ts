/** Who may say and hear what on NATS: permissions worked out from the message table, and the file that gives them. */
import { MESSAGES } from "../../protocols/messages.ts";
import { SERVICE_NAMES, type ServiceName } from "../../protocols/ports.ts";
import { SUBJECT_ROOT } from "../../protocols/subjects.ts";

/** Subjects that a user of NATS may publish on and subscribe to. */
export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** What an inspector may hear, by kind of message; it may say nothing. */
const INSPECTED_KINDS = ["observed", "judged", "done", "pulse"];

/** Readers of the table that are part of every process, whatever it runs. */
const IN_EVERY_PROCESS = ["fleet", "console"];

/** What JetStream needs besides: the ledger keeps its history there. The account holds nothing but this install's. */
const JETSTREAM: Permissions = { publish: ["$JS.API.>", "$JS.ACK.>", "$KV.>"], subscribe: ["_INBOX.>"] };

/** The services that run with each role's credentials: one a role, or several in one process. */
const PROCESSES: Readonly<Record<string, readonly ServiceName[]>> = {
  ...Object.fromEntries(SERVICE_NAMES.map((service) => [service, [service]])),
  reader: ["observer", "node", "zone", "taint-manager"],
  writer: ["node-writer", "pod-writer", "ledger"],
  cluster: SERVICE_NAMES,
};

/** Every role, each a user of its own. */
export const NATS_ROLES: readonly string[] = [...Object.keys(PROCESSES), "inspector"];

/** What a role may publish and subscribe to. */
export function permissionsOf(role: string): Permissions {
  const services = PROCESSES[role] ?? [];
  const readers = [...services, ...(services.length > 0 ? IN_EVERY_PROCESS : [])];
  const own = services.includes("ledger") ? JETSTREAM : { publish: [], subscribe: [] };
  const types = Object.entries(MESSAGES);
  const said = types.filter(([, { from }]) => (from === "any" ? services.length > 0 : names(from, services)));
  const heard = types.filter(([type, { to }]) => names(to, readers) || (role === "inspector" && isInspected(type)));
  return {
    publish: [...said.map(([type]) => subjectsOf(type)), ...own.publish],
    subscribe: [...heard.map(([type]) => subjectsOf(type)), ...own.subscribe],
  };
}

/** The name under which a role's public key stands in keys.conf. */
export function keyVariable(role: string): string {
  return `${role.replaceAll("-", "_").toUpperCase()}_KEY`;
}

/** The contents of roles.conf: one account with a user for each role. */
export function rolesConfig(): string {
  const users = NATS_ROLES.map(userConfig).join("\n");
  return `# Who may say and hear what. Written by \`npm run fix\` from the message table (protocols/README.md); do not edit.
# Each role is a user with an NKey of its own, whose public half stands in keys.conf (deploy/nats/make-keys.ts).
include "keys.conf"
accounts {
  VIGIL {
    jetstream: enabled
    users: [
${users}
    ]
  }
}
`;
}

function userConfig(role: string): string {
  const { publish, subscribe } = permissionsOf(role);
  return `      { # ${role}
        nkey: $${keyVariable(role)}
        permissions {
          publish ${rule(publish)}
          subscribe ${rule(subscribe)}
        }
      }`;
}

/** To NATS an empty list of what is allowed means that everything is, so that nothing has to be said as a denial. */
function rule(allowed: readonly string[]): string {
  if (allowed.length === 0) return '{ deny: ">" }';
  return `{ allow: [\n${allowed.map((subject) => `            "${subject}"`).join("\n")}\n          ] }`;
}

/** The subjects of a message type, of any cluster: installs are kept apart by their accounts. */
function subjectsOf(type: string): string {
  return `${SUBJECT_ROOT}.*.${type}.>`;
}

function names(column: string, wanted: readonly string[]): boolean {
  return column.split(", ").some((name) => wanted.includes(name));
}

function isInspected(type: string): boolean {
  return INSPECTED_KINDS.some((kind) => type.startsWith(`${kind}.`));
}
