/** What a release needs: its steps, and workflows that run what exists, with pinned actions and few rights. */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { publishedValues, releaseNotes, releaseProblems, withVersion } from "../../deploy/release/release.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const { scripts } = JSON.parse(read("package.json"));
const CHANGELOG = "# Changelog\n\n## 0.2.0\n\n- Second.\n\n## 0.1.0\n\n- First.\n- More.\n";

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Job {
  readonly steps: readonly Step[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly environment?: string;
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

describe("a tag", () => {
  const candidate = {
    tag: "v0.2.0",
    home: "vigil/vigil",
    version: "0.2.0",
    repository: "git+https://github.com/vigil/vigil.git",
    changelog: CHANGELOG,
  };

  test("can be released when package.json and the changelog have its version", () => {
    expect(releaseProblems(candidate)).toEqual([]);
  });

  test.each([
    [{ tag: "v0.3.0" }, "the tag is v0.3.0, but package.json has version 0.2.0: tag v0.2.0"],
    [
      { repository: undefined },
      "package.json has repository.url unset: set it to git+https://github.com/vigil/vigil.git",
    ],
    [
      { changelog: CHANGELOG.replace("## 0.2.0", "## 0.2.0 – unreleased") },
      'CHANGELOG.md has no heading "## 0.2.0": run npm run release',
    ],
    [{ changelog: CHANGELOG.replace("- Second.\n", "") }, "CHANGELOG.md says nothing about 0.2.0: name what changed"],
  ])("with %j cannot", (changed, problem) => {
    expect(releaseProblems({ ...candidate, ...changed })).toEqual([problem]);
  });

  test("has its section of the changelog as notes", () => {
    expect(releaseNotes("0.2.0", CHANGELOG)).toBe("- Second.");
    expect(releaseNotes("0.1.0", CHANGELOG)).toBe("- First.\n- More.");
  });

  test("is checked by the program with an exit code", () => {
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, "deploy/release/main.ts"), "check", "v0.0.0"]);
    expect({ status, stderr: String(stderr) }).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("the tag is v0.0.0"),
    });
  });
});

describe("the chart of a release", () => {
  test("names the image by its digest, and the page of its alerts", () => {
    const digest = `sha256:${"a".repeat(64)}`;
    const repository = "git+https://github.com/vigil/vigil.git";
    const chart = { image: "ghcr.io/vigil/vigil", digest, version: "0.1.0", repository };
    const { image, monitoring } = parse(publishedValues(read("deploy/helm/vigil/values.yaml"), chart));
    expect(image).toMatchObject({ repository: "ghcr.io/vigil/vigil", digest });
    const runbooks = "https://github.com/vigil/vigil/blob/v0.1.0/docs/alerts.md";
    expect(monitoring.prometheusRule).toMatchObject({ runbooks });
    expect(() => publishedValues("image: {}\n", chart)).toThrow('values.yaml has no line "repository: vigil"');
  });

  test("has the version of the package", () => {
    expect(parse(withVersion(read("deploy/helm/vigil/Chart.yaml"), "9.8.7"))).toMatchObject({
      version: "9.8.7",
      appVersion: "9.8.7",
    });
  });
});

test("an unreleased change records how the version grows and what a user notices", () => {
  const broken = globSync(".changeset/*.md", { cwd: ROOT })
    .filter((path) => !path.endsWith("README.md"))
    .filter((path) => !/^---\n"vigil": (?:patch|minor|major)\n---\n\n\S/.test(read(path)));
  expect(broken).toEqual([]);
});

test("every image is built for amd64 and arm64, with a list of what it holds", () => {
  const builds = globSync(".github/workflows/*.yml", { cwd: ROOT }).flatMap((path) => {
    const { jobs }: Workflow = parse(read(path));
    return Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = "" }) => run.split(/\n(?=\S)/)));
  });
  const images = builds.filter((command) => command.startsWith("docker buildx build"));
  expect(images).toHaveLength(2);
  for (const command of images) {
    expect(command).toContain("--platform linux/amd64,linux/arm64 ");
    expect(command).toContain("--sbom=true ");
  }
});

describe.each(globSync(".github/workflows/*.yml", { cwd: ROOT }))("the workflow %s", (path) => {
  const { permissions, jobs }: Workflow = parse(read(path));
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  test("uses actions of one commit each", () => {
    const used = steps.flatMap(({ uses }) => uses ?? []);
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((name) => !/^[\w.-]+\/[\w.-]+@[\da-f]{40}$/.test(name))).toEqual([]);
  });

  test("may write only what a job says, and each job ends in time", () => {
    expect(Object.values(permissions).filter((right) => right !== "read")).toEqual([]);
    expect(Object.values(jobs).filter((job) => job["timeout-minutes"] === undefined)).toEqual([]);
  });

  test("runs no code of other people where it may write", () => {
    const trusted = Object.values(jobs).filter(({ permissions: rights = {} }) =>
      Object.values(rights).includes("write"),
    );
    const commands = trusted.flatMap((job) => job.steps).map(({ run = "" }) => run);
    const foreign = /\bnpm (?:ci|install|i|run|exec|pack|test)\b|\bnpx\b|buildx build|npm publish(?! --ignore-scripts)/;
    expect(commands.filter((command) => foreign.test(command))).toEqual([]);
    expect(trusted.filter(({ environment }) => environment !== "release")).toEqual([]);
  });

  test("installs packages without their scripts", () => {
    const installs = steps.flatMap(({ run = "" }) => [...run.matchAll(/npm ci\b.*/g)].map(([command]) => command));
    expect(installs.filter((command) => !command.startsWith("npm ci --ignore-scripts"))).toEqual([]);
  });

  test("runs scripts and files that exist", () => {
    const commands = steps.map(({ run = "" }) => run).join("\n");
    const missingScripts = [...commands.matchAll(/npm run (?:-s )?([\w:]+)/g)].filter(
      ([, name = ""]) => !Object.hasOwn(scripts, name),
    );
    const files = [...commands.matchAll(/\b(?:deploy|test)\/[\w./-]+\b/g)].map(([file]) => file);
    expect(missingScripts).toEqual([]);
    expect(files.filter((file) => globSync(file, { cwd: ROOT }).length === 0)).toEqual([]);
  });

  test("puts no text of a stranger into a shell", () => {
    const inserted = steps.flatMap(({ run = "" }) =>
      [...run.matchAll(/\$\{\{\s*([^}]*?)\s*\}\}/g)].map(([, name = ""]) => name),
    );
    expect(inserted.filter((name) => !/^(?:secrets|steps|needs)\./.test(name))).toEqual([]);
  });
});
