/** Dispatches a message to the handler of its type. */
import type { AnyMessage, Message, MessageType } from "../../protocols/messages.ts";

/** Handlers by message type. */
export type ByType<A extends readonly unknown[], R> = {
  readonly [T in MessageType]?: (message: Message<T>, ...rest: A) => R;
};

/** Calls the handler of a message's type; returns undefined where there is none. */
export function dispatch<A extends readonly unknown[], R>(
  table: ByType<A, R>,
  message: AnyMessage,
  ...rest: A
): R | undefined {
  const handle = table[message.type] as ((message: AnyMessage, ...rest: A) => R) | undefined;
  return handle?.(message, ...rest);
}
