/** The links of a page and the anchors of its headings, read from its Markdown. */
import { headingSlug } from "../../docs/.vitepress/heading-slug.ts";

/** A link to another file of the repository, or to an anchor of the same page. */
export interface PageLink {
  /** Relative to the folder of the page; empty for the page itself. */
  readonly path: string;
  /** Without `#`; empty for none. */
  readonly anchor: string;
}

/** Every link of a page that does not lead to another host. */
export function linksOf(page: string): PageLink[] {
  return [...withoutCode(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].map(
    ([, path = "", anchor = ""]) => ({ path, anchor }),
  );
}

/** The anchors of all headings of a page. */
export function anchorsOf(page: string): string[] {
  const counts = new Map<string, number>();
  return [...withoutCode(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => {
    const slug = headingSlug(shownText(heading));
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
}

function withoutCode(page: string): string {
  return page.replace(/^( *)(`{3,})[^\n]*\n[\s\S]*?^ *\2 *$/gm, "");
}

/** A heading as it is shown, without the marks of code, emphasis and links. */
function shownText(heading: string): string {
  return heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
}
