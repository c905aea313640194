/** Chooses what to do with a message by its type. It knows no message in particular. */
import type { AnyMessage, Message, MessageType } from "../../protocols/messages.ts";

/** What to do with messages of some types. */
export type ByType<A extends readonly unknown[], R> = {
  readonly [T in MessageType]?: (message: Message<T>, ...rest: A) => R;
};

/** Does it, or nothing for a type that the table leaves out. */
export function dispatch<A extends readonly unknown[], R>(
  table: ByType<A, R>,
  message: AnyMessage,
  ...rest: A
): R | undefined {
  const chosen = table[message.type] as ((message: AnyMessage, ...rest: A) => R) | undefined;
  return chosen?.(message, ...rest);
}
