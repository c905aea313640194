/** The texts of a release: its notes, what is still wrong with it, and the chart's values for its image. */

/** What a release is judged by. */
export interface ReleaseCandidate {
  readonly tag: string;
  /** `owner/name` of the repository on GitHub that releases. */
  readonly home: string;
  /** `version` of package.json. */
  readonly version: string;
  /** `repository.url` of package.json, if it has one. */
  readonly repository: string | undefined;
  readonly changelog: string;
}

/** Why a tag cannot be released, one line each; empty when it can. */
export function releaseProblems({ tag, home, version, repository, changelog }: ReleaseCandidate): string[] {
  const notes = releaseNotes(version, changelog);
  const url = `git+https://github.com/${home}.git`;
  return [
    tag === `v${version}` ? [] : `the tag is ${tag}, but package.json has version ${version}: tag v${version}`,
    // npm attests where a package was built only if the package names that place.
    repository === url ? [] : `package.json has repository.url ${repository ?? "unset"}: set it to ${url}`,
    notes === null ? `CHANGELOG.md has no heading "## ${version}": run npm run release` : [],
    notes === "" ? `CHANGELOG.md says nothing about ${version}: name what changed` : [],
  ].flat();
}

/** The section of a version in the changelog, without its heading; null without the very heading `## <version>`. */
export function releaseNotes(version: string, changelog: string): string | null {
  const lines = changelog.split("\n");
  const from = lines.indexOf(`## ${version}`);
  if (from < 0) return null;
  const rest = lines.slice(from + 1);
  const end = rest.findIndex((line) => line.startsWith("## "));
  return rest
    .slice(0, end < 0 ? rest.length : end)
    .join("\n")
    .trim();
}

/** What a released chart names. */
export interface PublishedChart {
  readonly image: string;
  readonly digest: string;
  readonly version: string;
  /** `repository.url` of package.json. */
  readonly repository: string;
}

/** The chart's values with what was published. Throws an Error where they have no such fields. */
export function publishedValues(values: string, { image, digest, version, repository }: PublishedChart): string {
  const home = repository.replace(/^git\+/, "").replace(/\.git$/, "");
  const named = replaced(values, "  repository: vigil\n", `  repository: ${image}\n`);
  const pinned = replaced(named, '  digest: ""\n', `  digest: ${digest}\n`);
  return replaced(pinned, "https://github.com/OWNER/NAME/blob/main/", `${home}/blob/v${version}/`);
}

/** The chart's description with the version of package.json. */
export function withVersion(chart: string, version: string): string {
  return chart
    .replace(/^version: .*$/m, `version: ${version}`)
    .replace(/^appVersion: .*$/m, `appVersion: "${version}"`);
}

function replaced(text: string, before: string, after: string): string {
  if (!text.includes(before)) throw new Error(`values.yaml has no line "${before.trim()}"`);
  return text.replace(before, after);
}
