/**
 * Writes docs/asyncapi.yaml, which describes every message and every query for programs in other languages (AsyncAPI 3,
 * asyncapi.com). All of it follows from the schemas in protocols/.
 */
import { stringify } from "yaml";
import { z } from "zod";
import { frameSchema } from "../../protocols/frame.ts";
import { isMessageType, MESSAGES, type MessageType } from "../../protocols/messages.ts";
import { QUERIES, type QueryName } from "../../protocols/queries.ts";
import { SUBJECT_ROOT } from "../../protocols/subjects.ts";

const HEAD = "# Written by `npm run fix` from the schemas in protocols/; do not edit.\n";
const CLUSTER = { description: "The Kubernetes cluster, as in --cluster, as a token.", default: "default" };
const SHARD = { description: "FNV-1a of the node's name or the zone's key, modulo 64." };
const MESSAGE_TYPES = Object.keys(MESSAGES).filter(isMessageType);
const QUERY_NAMES = Object.keys(QUERIES) as QueryName[];

/** Where answers go: the subject that each request names. */
const INBOX = {
  address: null,
  messages: Object.fromEntries(
    QUERY_NAMES.map((name) => [`${name}.answer`, ref("components", "messages", `${name}.answer`)]),
  ),
};

/** The document of this version of the product. */
export function asyncApiText(version: string): string {
  return HEAD + stringify(asyncApi(version), { lineWidth: 0, aliasDuplicateObjects: false });
}

/** The document as a value. */
export function asyncApi(version: string): object {
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Vigil",
      version,
      description:
        "The messages of a Kubernetes node lifecycle controller on NATS, and the queries that it answers. " +
        "Fields may be added; a listener ignores those that it does not know.",
      license: { name: "Apache-2.0" },
    },
    defaultContentType: "application/json",
    servers: { nats: { host: "127.0.0.1:4222", protocol: "nats", description: "The NATS of --nats." } },
    channels: Object.fromEntries([
      ...MESSAGE_TYPES.map((type) => [type, messageChannel(type)]),
      ...QUERY_NAMES.map((name) => [`query.${name}`, queryChannel(name)]),
      ["inbox", INBOX],
    ]),
    operations: Object.fromEntries([
      ...MESSAGE_TYPES.map((type) => [type, { action: "send", channel: ref("channels", type) }]),
      ...QUERY_NAMES.map((name) => [`query.${name}`, queryOperation(name)]),
    ]),
    components: {
      messages: Object.fromEntries([
        ...MESSAGE_TYPES.map((type) => [type, messageOf(type)]),
        ...QUERY_NAMES.flatMap((name) => Object.entries(queryMessages(name))),
      ]),
    },
  };
}

function messageChannel(type: MessageType): object {
  const { keyNames, purpose } = MESSAGES[type];
  const keys = keyNames.map((key) => [key, { description: `The ${key} as a token; the body has the real one.` }]);
  return {
    address: [`${SUBJECT_ROOT}.{cluster}.${type}.{shard}`, ...keyNames.map((key) => `{${key}}`)].join("."),
    description: purpose,
    parameters: { cluster: CLUSTER, shard: SHARD, ...Object.fromEntries(keys) },
    messages: { [type]: ref("components", "messages", type) },
  };
}

function messageOf(type: MessageType): object {
  const { schema, from, to, purpose } = MESSAGES[type];
  const frame = frameSchema.extend({ type: z.literal(type), body: schema });
  return { name: type, summary: purpose, description: `${from} → ${to}`, payload: schemaOf(frame) };
}

function queryChannel(name: QueryName): object {
  return {
    address: `${SUBJECT_ROOT}.{cluster}.query.${name}`,
    description: QUERIES[name].purpose,
    parameters: { cluster: CLUSTER },
    messages: { [`${name}.query`]: ref("components", "messages", `${name}.query`) },
  };
}

function queryOperation(name: QueryName): object {
  const channel = `query.${name}`;
  return {
    action: "receive",
    channel: ref("channels", channel),
    messages: [ref("channels", channel, "messages", `${name}.query`)],
    reply: {
      address: { location: "$message.header#/reply", description: "The reply subject, which begins with _INBOX." },
      channel: ref("channels", "inbox"),
      messages: [ref("channels", "inbox", "messages", `${name}.answer`)],
    },
  };
}

function queryMessages(name: QueryName): Readonly<Record<string, object>> {
  const { schema, answer, purpose } = QUERIES[name];
  return {
    [`${name}.query`]: { name: `${name}.query`, summary: `Asks for ${purpose}.`, payload: schemaOf(schema) },
    [`${name}.answer`]: { name: `${name}.answer`, summary: `Answers ${purpose}.`, payload: schemaOf(answer) },
  };
}

/** Of what a reader accepts, so that fields may be added. AsyncAPI's own schemas are those of draft 7. */
function schemaOf(schema: z.ZodType): object {
  const { $schema: _dialect, ...text } = z.toJSONSchema(schema, { target: "draft-7", io: "input" });
  return text;
}

function ref(...path: readonly string[]): object {
  return { $ref: `#/${path.map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1")).join("/")}` };
}
