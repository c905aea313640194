/**
 * Third-party images are named by tag and digest, so that what runs is what was reviewed. Vigil's own has compiled what
 * it runs.
 */
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { IMAGES_OF_OTHERS } from "../support/docker.ts";

const ROOT = join(import.meta.dirname, "../..");
const FILES = ["Dockerfile", "compose.yaml", ...globSync("deploy/**/*.{yaml,yml}", { cwd: ROOT })];
/** Where an image is named: `image:` of a manifest, `FROM` and its argument. */
const NAMED = /^\s*(?:-\s+)?(?:image:|NODE_IMAGE:|ARG NODE_IMAGE=|FROM)[ \t]*(\S+)/gm;
/** The operator builds and pushes Vigil's own image, so its digest is not known here. */
const OWN = new Set(["vigil", "vigil:latest"]);
/** Docker's word for no image. */
const EMPTY = "scratch";
const PINNED = /^[a-z\d./-]+:[\w.-]+@sha256:[\da-f]{64}$/;

/** Every image in a file; of a variable its default, and nothing of one without or of a chart's value. */
function imagesIn(file: string): string[] {
  const names = [...readFileSync(join(ROOT, file), "utf8").matchAll(NAMED)].map(([, name = ""]) => name);
  return names
    .map((name) => /^\$\{\w+:-(.*)\}$/.exec(name)?.[1] ?? name)
    .filter((name) => !/^(?:\$|\{\{)/.test(name) && name !== EMPTY && !OWN.has(name));
}

const named = FILES.flatMap((file) => imagesIn(file).map((image) => [file, image] as const));

test("Dockerfile, compose.yaml and the manifests name images of others", () => {
  expect(named.map(([file]) => file)).toEqual(
    expect.arrayContaining(["Dockerfile", "compose.yaml", "deploy/nats/statefulset.yaml"]),
  );
});

test.each(named)("%s pins %s by its digest", (_file, image) => expect(image).toMatch(PINNED));

test("the same image is pinned alike everywhere, and tests run on it", () => {
  const repositories = Object.groupBy(named, ([, image]) => image.split(":")[0] ?? "");
  for (const uses of Object.values(repositories)) {
    expect(new Set(uses?.map(([, image]) => image)).size).toBe(1);
  }
  expect(named.map(([, image]) => image)).toEqual(expect.arrayContaining(Object.values(IMAGES_OF_OTHERS)));
});

test("`vigil run` compiles nothing that the image has not compiled", () => {
  const cache = mkdtempSync(join(tmpdir(), "vigil-compiled-"));
  onTestFinished(() => rmSync(cache, { recursive: true }));
  const vigil = (words: readonly string[]): string => {
    const env = { NODE_COMPILE_CACHE: cache };
    return spawnSync(process.execPath, ["services/vigil.js", ...words], { cwd: ROOT, env, encoding: "utf8" }).stderr;
  };
  const dockerfile = readFileSync(join(ROOT, "Dockerfile"), "utf8");
  const built = dockerfile.matchAll(/^RUN \["node", "services\/vigil\.js", (.+)\]$/gm);
  for (const [, words = ""] of built) vigil(JSON.parse(`[${words}]`) as string[]);
  const compiled = globSync("*/*", { cwd: cache }).sort();
  expect(vigil(["run", "--kubeconfig=/none"])).toContain("kubeconfig /none");
  expect(globSync("*/*", { cwd: cache }).sort()).toEqual(compiled);
});
