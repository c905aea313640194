/**
 * Links of a page to other files of the repository. A page is a page of the site too. Any other file has no address
 * there, so its link becomes plain text. On GitHub both are links.
 */
import { posix } from "node:path";

/** The part of a token of markdown-it that is used here. */
export interface LinkToken {
  type: string;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

const HOME = "README.md";
const IS_EXTERNAL = /^(?:[a-z]+:|#|\/)/;

/** The tokens of a line of a page of this path, each link as the site has it. */
export function withSiteLinks<T extends LinkToken>(tokens: readonly T[], page: string): T[] {
  const kept: T[] = [];
  let isDropped = false;
  for (const token of tokens) {
    if (token.type === "link_open") isDropped = !isOnSite(token, page);
    if (isDropped && (token.type === "link_open" || token.type === "link_close")) continue;
    kept.push(token);
  }
  return kept;
}

/** Whether a link has an address on the site; one to the README becomes one to the home page. */
function isOnSite(token: LinkToken, page: string): boolean {
  const href = token.attrGet("href") ?? "";
  if (IS_EXTERNAL.test(href)) return true;
  const [path = "", anchor] = href.split("#");
  const target = posix.join(posix.dirname(page), path);
  if (target === HOME) token.attrSet("href", anchor === undefined ? "/" : `/#${anchor}`);
  return target.endsWith(".md");
}
