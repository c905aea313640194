/** The NATS permissions of every role, derived from the message table, and the file roles.conf that grants them. */
import { MESSAGES } from "../../protocols/messages.ts";
import { SERVICE_NAMES, type ServiceName } from "../../protocols/ports.ts";
import { QUERY_ANSWERER } from "../../protocols/queries.ts";
import { SUBJECT_ROOT, token } from "../../protocols/subjects.ts";

/** Subjects that a user of NATS may publish on and subscribe to. */
export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** A member with its own NATS user. */
export interface NatsProcess {
  readonly role: string;
  /** Its name in the fleet, as `--member` gives it. */
  readonly member: string;
}

const INSPECTOR_ROLE = "inspector";

/** Where clients receive answers; in account VIGIL only inspectors ask. */
const INBOXES = "_INBOX.>";

/**
 * An inspector receives every message of Vigil. It publishes nothing but questions: to find Vigil as a micro service of
 * NATS, and to query it.
 */
const INSPECTOR: Permissions = {
  publish: ["$SRV.>", `${SUBJECT_ROOT}.*.query.>`],
  subscribe: [`${SUBJECT_ROOT}.*.>`, INBOXES],
};

/**
 * What answers them. The answer goes to an inbox and nowhere else, so that the sender of a query cannot direct it to a
 * subject of Vigil.
 */
const ANSWERER: Permissions = {
  publish: [INBOXES],
  subscribe: ["$SRV.*", "$SRV.*.vigil", "$SRV.*.vigil.*", `${SUBJECT_ROOT}.*.query.>`],
};

/** Readers in the table that are part of every process. */
const IN_EVERY_PROCESS = ["fleet", "console"];

/**
 * The one user of account HISTORY, which has JetStream: the ledger's second connection. A user of JetStream can make
 * the server publish anything on any subject of the account, so no other user of that account subscribes.
 */
export const HISTORY_ROLE = "history";
const HISTORY: Permissions = { publish: ["$JS.API.>", "$JS.ACK.>", "$KV.>"], subscribe: [INBOXES] };

/** Streams of account HISTORY: three for each cluster on these servers, and as many again of clusters that are gone. */
const STREAMS_MAX = 48;
/** Its consumers: three for each ledger that starts; the servers delete them minutes after their last use. */
const CONSUMERS_MAX = 256;

/** The kinds of messages that account HISTORY imports from account VIGIL for the ledger's stream. */
const RECORDED_KINDS = ["judged", "asked", "done"];

/** The services that run with each role's credentials: one a role, or several in one process. */
const PROCESSES: Readonly<Record<string, readonly ServiceName[]>> = {
  ...Object.fromEntries(SERVICE_NAMES.map((service) => [service, [service]])),
  reader: ["observer", "node", "zone", "taint-manager"],
  writer: ["node-writer", "pod-writer", "ledger", "policy"],
  cluster: SERVICE_NAMES,
};

/** Every role on the bus, each with its own user. */
export const NATS_ROLES: readonly string[] = [...Object.keys(PROCESSES), INSPECTOR_ROLE];

/** The roles that a process can have. */
export const PROCESS_ROLES: readonly string[] = Object.keys(PROCESSES);

/** What a role may publish and subscribe to; with a member, it may publish about that member alone. */
export function permissionsOf(role: string, member: string | null = null): Permissions {
  if (role === HISTORY_ROLE) return HISTORY;
  if (role === INSPECTOR_ROLE) return INSPECTOR;
  const services = PROCESSES[role] ?? [];
  const readers = [...services, ...(services.length > 0 ? IN_EVERY_PROCESS : [])];
  const types = Object.entries(MESSAGES);
  const said = types.filter(([, { from }]) => (from === "any" ? services.length > 0 : names(from, services)));
  const heard = types.filter(([, { to }]) => names(to, readers));
  const answers = services.includes(QUERY_ANSWERER) ? ANSWERER : { publish: [], subscribe: [] };
  return {
    publish: [...said.map(([type, { from }]) => subjectsOf(type, from === "any" ? member : null)), ...answers.publish],
    subscribe: [...heard.map(([type]) => subjectsOf(type)), ...answers.subscribe],
  };
}

/** The variable in keys.conf with the public key of a role or member. */
export function keyVariable(roleOrMember: string): string {
  return `${roleOrMember.replaceAll("-", "_").toUpperCase()}_KEY`;
}

/** The roles and members that each have a user and so a key: roles, or where processes are given, those processes. */
export function usersOf(processes: readonly NatsProcess[]): readonly string[] {
  const users = processes.length === 0 ? NATS_ROLES : [...processes.map(({ member }) => member), INSPECTOR_ROLE];
  return [...users, HISTORY_ROLE];
}

/**
 * The contents of roles.conf: the account of the bus with a user for each role, and that of the ledger's history. Where
 * processes are given each of them has a user in place of its role.
 */
export function rolesConfig(processes: readonly NatsProcess[] = []): string {
  const users =
    processes.length === 0
      ? NATS_ROLES.map((role) => userConfig(role))
      : [...processes.map(({ role, member }) => userConfig(role, member)), userConfig(INSPECTOR_ROLE)];
  const [author, user] =
    processes.length === 0
      ? ["`npm run fix`", "Each role is a user with"]
      : ["deploy/nats/make-keys.ts", "Each process is a user with"];
  return `# NATS permissions. Written by ${author} from the message table (protocols/README.md); do not edit.
# ${user} its own NKey; the public keys are in keys.conf (deploy/nats/make-keys.ts).
include "keys.conf"
accounts {
  VIGIL {
    users: [
${users.join("\n")}
    ]
    exports: [
${RECORDED_KINDS.map((kind) => `      { stream: "${subjectsOf(kind)}", accounts: [HISTORY] }`).join("\n")}
    ]
  }
  # Imports messages of VIGIL and exports nothing to it.
  HISTORY {
    jetstream { max_streams: ${STREAMS_MAX}, max_consumers: ${CONSUMERS_MAX} }
    users: [
${userConfig(HISTORY_ROLE)}
    ]
    imports: [
${RECORDED_KINDS.map((kind) => `      { stream: { account: VIGIL, subject: "${subjectsOf(kind)}" } }`).join("\n")}
    ]
  }
}
`;
}

function userConfig(role: string, member: string | null = null): string {
  const { publish, subscribe } = permissionsOf(role, member);
  return `      { # ${member === null ? role : `${member}, a ${role}`}
        nkey: $${keyVariable(member ?? role)}
        permissions {
          publish ${rule(publish)}
          subscribe ${rule(subscribe)}
        }
      }`;
}

/** NATS reads an empty allow list as "everything", so "nothing" is written as a denial. */
function rule(allowed: readonly string[]): string {
  if (allowed.length === 0) return '{ deny: ">" }';
  return `{ allow: [\n${allowed.map((subject) => `            "${subject}"`).join("\n")}\n          ] }`;
}

/**
 * The subjects of a message type or kind, of any cluster: installs are kept apart by their accounts. With a member, of
 * those about that member alone.
 */
function subjectsOf(typeOrKind: string, member: string | null = null): string {
  return `${SUBJECT_ROOT}.*.${typeOrKind}.${member === null ? ">" : `*.${token(member)}`}`;
}

function names(column: string, wanted: readonly string[]): boolean {
  return column.split(", ").some((name) => wanted.includes(name));
}
