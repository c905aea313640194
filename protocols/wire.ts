/** Encodes and decodes messages. Every message passes through here, in memory too. */
import { FRAME_VERSION, frameSchema, MESSAGE_BYTES_MAX } from "./frame.ts";
import {
  type BodyOf,
  isMessageType,
  MESSAGES,
  type Message,
  type MessageDefinition,
  type MessageType,
} from "./messages.ts";
import { subjectOf } from "./subjects.ts";

/** Bytes that are not a valid message; `problem` names the field and the fault in one line. Counted and dropped. */
export class MalformedMessage {
  readonly problem: string;
  constructor(problem: string) {
    this.problem = problem;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The definition of a message type, with its key and shard functions widened to any body of that type. */
export function definitionOf<T extends MessageType>(type: T): MessageDefinition<(typeof MESSAGES)[T]["schema"]> {
  return MESSAGES[type] as MessageDefinition<(typeof MESSAGES)[T]["schema"]>;
}

/** The subject of a message. */
export function subjectFor<T extends MessageType>(cluster: string, type: T, body: BodyOf<T>): string {
  const definition = definitionOf(type);
  return subjectOf(cluster, type, definition.shard(body), definition.key(body));
}

/** A message as bytes. Throws a RangeError above MESSAGE_BYTES_MAX: the sender must split its contents. */
export function encode<T extends MessageType>(message: Message<T>): Uint8Array {
  const bytes = encoder.encode(JSON.stringify({ v: FRAME_VERSION, ...message }));
  if (bytes.length > MESSAGE_BYTES_MAX) {
    throw new RangeError(
      `${message.type} ${message.id} has ${bytes.length} bytes, at most ${MESSAGE_BYTES_MAX} are allowed`,
    );
  }
  return bytes;
}

/** Bytes as a checked message, or the fault. Never throws. */
export function decode(bytes: Uint8Array): Message | MalformedMessage {
  if (bytes.length > MESSAGE_BYTES_MAX)
    return new MalformedMessage(`${bytes.length} bytes, at most ${MESSAGE_BYTES_MAX} are allowed`);
  let raw: unknown;
  try {
    raw = JSON.parse(decoder.decode(bytes));
  } catch {
    return new MalformedMessage("not JSON in UTF-8");
  }
  const frame = frameSchema.safeParse(raw);
  if (!frame.success) return new MalformedMessage(firstIssue("frame", frame.error.issues));
  const { type, id, source, at, cause, body } = frame.data;
  if (!isMessageType(type))
    return new MalformedMessage(`type: ${JSON.stringify(type)} is not a message of this version`);
  const checked = MESSAGES[type].schema.safeParse(body);
  if (!checked.success) return new MalformedMessage(firstIssue(type, checked.error.issues));
  return { type, id, source, at, cause, body: checked.data };
}

function firstIssue(where: string, issues: readonly { path: PropertyKey[]; message: string }[]): string {
  const issue = issues[0];
  if (issue === undefined) return `${where}: invalid`;
  return `${[where, ...issue.path.map(String)].join(".")}: ${issue.message}`;
}
