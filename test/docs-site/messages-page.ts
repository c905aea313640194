/** Writes docs/reference/messages.md, every field of every message, from the schemas in protocols/. */
import { z } from "zod";
import { isMessageType, MESSAGES, type MessageType } from "../../protocols/messages.ts";
import { QUERIES, type QueryName } from "../../protocols/queries.ts";
import { fieldList, type JsonSchema, NOTATION, type ShownShapes, shapeKey } from "./schema-table.ts";

const HEAD = `# Messages, field by field

<!-- Written by \`npm run fix\` from the schemas in protocols/; do not edit. -->

What each message means, who publishes and reads it, and how it is framed, is in
[the protocol](../../protocols/README.md). [asyncapi.yaml](../asyncapi.yaml) has the same schemas for programs, with the
bounds of each value. Fields may be added; a listener ignores those that it does not know. An instant is a number of
milliseconds since 1970.

${NOTATION}`;

/** The page with every message, and then every query over NATS; a shape is shown once. */
export function messagesPage(): string {
  const shown = shapesElsewhere();
  const types = Object.keys(MESSAGES).filter(isMessageType);
  const queries = Object.keys(QUERIES) as QueryName[];
  return [
    HEAD,
    ...types.map((type) => messageSection(type, shown)),
    "## Queries",
    "A request on `vigil.v1.<cluster>.query.<name>`; an empty payload asks for everything.",
    ...queries.map((name) => querySection(name, shown)),
  ]
    .join("\n\n")
    .concat("\n");
}

/** The spec of a policy has a page of its own. */
function shapesElsewhere(): ShownShapes {
  const { spec = {} } = jsonSchemaOf(MESSAGES["judged.policy"].schema).properties ?? {};
  return new Map([[shapeKey(spec), "as [the spec of a NodePolicy](node-policy.md#spec)"]]);
}

function messageSection(type: MessageType, shown: ShownShapes): string {
  const { schema, purpose } = MESSAGES[type];
  return `## ${type}\n\n${purpose[0]?.toUpperCase()}${purpose.slice(1)}.\n\n${fieldList(jsonSchemaOf(schema), type, shown)}`;
}

function querySection(name: QueryName, shown: ShownShapes): string {
  const { schema, answer, purpose } = QUERIES[name];
  const payload = jsonSchemaOf(schema);
  const asked = Object.keys(payload.properties ?? {}).length === 0 ? "No payload." : fieldList(payload);
  const answered = fieldList(jsonSchemaOf(answer), `query.${name}`, shown);
  return `### query.${name}\n\nAnswers ${purpose}.\n\n${asked}\n\nThe answer:\n\n${answered}`;
}

function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { target: "draft-7", io: "input" }) as JsonSchema;
}
