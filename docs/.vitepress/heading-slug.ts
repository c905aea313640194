/** The anchor of a heading, as GitHub makes it, so that a link with an anchor works there and on the site. */

/** The anchor of a heading's text without markup; the second of one text on a page gets `-1` besides. */
export function headingSlug(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");
}
