/**
 * The npm package as its user meets it: packed here, installed from the tarball into an empty folder on that user's
 * Node, and run there. Packages come from npm's registry, and so do the Nodes.
 */
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { describeUnless } from "../support/describe-unless.ts";

const ROOT = join(import.meta.dirname, "../..");
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const MIB = 1024 ** 2;
/** The most that the package and its dependencies take on disk. */
const INSTALLED_MIB_MAX = 60;
/** The Node that runs this test, which is the one the project pins. */
const OWN_NODE = dirname(process.execPath);
const SUPPORTED = ["Node 22", "Node 24"] as const;
const NODE_22 = "22.23.3";
const TOO_OLD = "20.20.2";
const REGISTRY_MISSING = "npm's registry does not answer: set one with `npm config set registry`";

/** A program of a user who reads the bus. */
const READER = `import { decode, MalformedMessage } from "vigil/protocols/wire";
export function read(bytes: Uint8Array): string {
  const message = decode(bytes);
  return message instanceof MalformedMessage ? message.problem : message.FIELD;
}
`;

/** What a command left behind. */
interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder in which the package is installed. */
interface Project {
  readonly folder: string;
  /** The folder of the Node it runs on. */
  readonly node: string;
  readonly installation: Ran;
}

const folder = mkdtempSync(join(tmpdir(), "vigil-npm-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a program on this Node, without what `npm run` adds to the environment. */
async function run(cwd: string, node: string, program: string, ...args: string[]): Promise<Ran> {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle|config_local)/.test(name));
  const env = { ...Object.fromEntries(kept), PATH: [node, "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter) };
  return promisify(execFile)(program, args, { cwd, env, timeout: 400_000 }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

/** Installs a release of Node and returns the folder of its program. */
async function nodeOf(version: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const place = join(folder, `node-${version}`);
  const { code, stderr } = await run(folder, OWN_NODE, "npm", "install", "--prefix", place, `${name}@${version}`);
  expect(code, stderr).toBe(0);
  return join(place, "node_modules", name, "bin");
}

async function projectOn(node: string, name: string, tarball: string): Promise<Project> {
  const place = join(folder, name.replace(" ", "-"));
  mkdirSync(place);
  // npm installs into the nearest folder above that is a project.
  writeFileSync(join(place, "package.json"), "{}");
  return { folder: place, node, installation: await run(place, node, "npm", "install", tarball) };
}

/** The names of the installed packages. */
function packagesOf({ folder: place }: Project): string[] {
  const packages = join(place, "node_modules");
  return readdirSync(packages).flatMap((name) =>
    name.startsWith("@") ? readdirSync(join(packages, name)).map((inner) => `${name}/${inner}`) : [name],
  );
}

function bytesIn(path: string): number {
  const status = lstatSync(path);
  if (!status.isDirectory()) return status.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0);
}

function registryProblem(): string | null {
  const { status } = spawnSync("npm", ["view", "zod", "name"], { timeout: 60_000 });
  return status === 0 ? null : REGISTRY_MISSING;
}

/** The package is installed four times, partly at once. */
vi.setConfig({ testTimeout: 400_000 });

describeUnless(registryProblem(), "the npm package", () => {
  let tarball: string;
  let oldNode: string;
  let projects: Readonly<Record<(typeof SUPPORTED)[number], Project>>;

  beforeAll(async () => {
    execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: ROOT });
    tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "");
    const [node22, node20] = await Promise.all([nodeOf(NODE_22), nodeOf(TOO_OLD)]);
    const [on22, on24] = await Promise.all([
      projectOn(node22, "Node 22", tarball),
      projectOn(OWN_NODE, "Node 24", tarball),
    ]);
    projects = { "Node 22": on22, "Node 24": on24 };
    oldNode = node20;
  });

  test.concurrent.each(SUPPORTED)("installs on %s without a complaint about its engine", (name) => {
    const { code, stderr } = projects[name].installation;
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain("EBADENGINE");
  });

  test.concurrent("takes less than 60 MiB, with no package for developers and no Node of its own", () => {
    const project = projects["Node 22"];
    expect(bytesIn(join(project.folder, "node_modules")) / MIB).toBeLessThan(INSTALLED_MIB_MAX);
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const names = packagesOf(project);
    expect(names).toContain("vigil");
    expect(names.filter((name) => Object.hasOwn(devDependencies, name) || name.startsWith("node-"))).toEqual([]);
  });

  test.concurrent.each(SUPPORTED)("serves every file of the dashboard on %s", async (name) => {
    const { folder: installed, node } = projects[name];
    const script =
      'import { pageFile } from "./node_modules/vigil/dist/services/console/page-files.js";' +
      'for (const path of ["/", "/page.js", "/page.css", "/uplot.js", "/uplot.css"]) console.log(pageFile(path).status);';
    const served = await run(installed, node, "node", "--input-type=module", "--eval", script);
    expect(served).toMatchObject({ stdout: "200\n".repeat(5), stderr: "" });
  });

  test.concurrent("plays the playground to its end on both", async () => {
    const plays = SUPPORTED.map((name) =>
      run(projects[name].folder, projects[name].node, "npx", "vigil", "playground", "--pause=0s"),
    );
    for (const { code, stdout, stderr } of await Promise.all(plays)) {
      expect(code, stderr).toBe(0);
      expect(stdout).toContain("All 60 nodes are Ready");
    }
  });

  test.concurrent.each(SUPPORTED)("installed globally on %s, bash completes it and kubectl finds it", async (name) => {
    const { node } = projects[name];
    const place = join(folder, `global-${name.replace(" ", "-")}`);
    const installed = await run(folder, node, "npm", "install", "--global", "--prefix", place, tarball);
    expect(installed.code, installed.stderr).toBe(0);
    const completes =
      'source <(vigil completion bash); COMP_WORDS=(vigil pl) COMP_CWORD=1; _vigil vigil pl vigil; echo "$COMPREPLY"';
    const shell = await run(folder, `${join(place, "bin")}${delimiter}${node}`, "bash", "-c", completes);
    expect(shell).toMatchObject({ stdout: "playground\n", stderr: "" });
    const plugin = await run(folder, `${join(place, "bin")}${delimiter}${node}`, "kubectl", "vigil", "version");
    expect(plugin).toMatchObject({ stdout: `vigil ${VERSION} (protocol v1)\n`, stderr: "" });
  });

  test.concurrent("has types: reading a message field compiles, and reading a missing one does not", async () => {
    const place = projects["Node 24"].folder;
    const compile = (file: string, field: string): Promise<Ran> => {
      writeFileSync(join(place, file), READER.replace("FIELD", field));
      return run(
        place,
        OWN_NODE,
        join(ROOT, "node_modules/.bin/tsc"),
        "--strict",
        "--module",
        "nodenext",
        "--noEmit",
        file,
      );
    };
    expect(await compile("right.mts", "source")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect((await compile("wrong.mts", "sender")).stdout).toContain("Property 'sender' does not exist");
  });

  test.concurrent("a Node that is too old gets one line", async () => {
    const { folder: place } = projects["Node 22"];
    const program = join(place, "node_modules/vigil/dist/services/vigil.js");
    const { code, stdout, stderr } = await run(place, oldNode, "node", program, "version");
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr:
        `vigil: Node ${TOO_OLD} cannot run it: install Node 24.5 or newer, or 22.21; ` +
        "in a checkout, `npm run vigil --` takes the Node 24 that npm installed\n",
    });
  });
});
