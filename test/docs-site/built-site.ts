/** The pages of a built site: their links, and which of these lead nowhere. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** Every link of a built site that leads to no page, file or anchor of it, as `page: link`. */
export function deadLinks(site: string): string[] {
  const pages = new Map(
    globSync("**/*.html", { cwd: site }).map((path) => [path, readFileSync(join(site, path), "utf8")] as const),
  );
  return [...pages].flatMap(([page, html]) =>
    linksIn(html)
      .filter((link) => !isAlive(link, page, pages, site))
      .map((link) => `${page}: ${link}`),
  );
}

function linksIn(html: string): string[] {
  return [...html.matchAll(/<(?:a|img|source)\b[^>]*?\s(?:href|src|srcset)="([^"]+)"/g)]
    .map(([, link = ""]) => link.replaceAll("&amp;", "&"))
    .filter((link) => !/^(?:[a-z]+:|\/\/)/.test(link));
}

function isAlive(link: string, page: string, pages: ReadonlyMap<string, string>, site: string): boolean {
  const [path = "", anchor = ""] = link.split("#");
  const joined = path === "" ? page : posix.join(path.startsWith("/") ? "" : posix.dirname(page), path);
  const target = joined.replace(/^\//, "").replace(/(?:^|\/)$/, (end) => `${end}index.html`);
  const html = pages.get(target);
  if (html === undefined) return existsSync(join(site, target));
  return anchor === "" || html.includes(`id="${decodeURIComponent(anchor)}"`);
}
