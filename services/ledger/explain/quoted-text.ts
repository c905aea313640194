/**
 * Texts that reach the ledger ready-made: the reason of a writer or of the API server, or the field that blocks a node.
 * They come without the places of names, so a word counts as a name if it follows its kind.
 */
import type { NameInText } from "../../../protocols/ledger-reader.ts";
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
import type { NamedText } from "../../domain/format.ts";

/** `NodePolicy gpu`, `node worker-7`, and `nodes "worker-7"` as the API server has it. */
const NAME = /\b(NodePolicy|nodes?) "?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)/g;

/** Such a text with the names of policies in it, and of those nodes that exist: what follows "node" may be a verb. */
export function quotedText(text: string, nodes: { readonly has: (name: string) => boolean }): NamedText {
  const names = [...text.matchAll(NAME)].flatMap(({ 0: all, 1: word, 2: name = "", index }): NameInText[] => {
    const kind = word === NODE_POLICY_API.kind ? "NodePolicy" : "Node";
    if (kind === "Node" && !nodes.has(name)) return [];
    const to = index + all.length;
    return [{ from: to - name.length, to, kind, namespace: "", name }];
  });
  return { text, names };
}
