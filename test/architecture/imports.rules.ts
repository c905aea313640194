/** Architecture rules: which folder may import which, and which package belongs to which files. */
import { posix } from "node:path";
import { type Breach, lineAt, type Rule, type Source } from "./source.ts";

/** The kinds of folders: `edge` folders touch the machine, `actor` folders only their arguments. */
type Kind = "protocols" | "structures" | "domain" | "platform" | "service" | "sandbox" | "top" | "test";

/** What the folders of the platform may import, besides themselves, structures and protocols/. */
const PLATFORM: Readonly<Record<string, readonly string[]>> = {
  process: [],
  bus: ["platform/process"],
  kube: ["domain", "platform/process"],
  config: ["domain", "platform/bus", "platform/process"],
  fleet: ["platform/process", "platform/bus", "platform/kube"],
  "node-policies": ["domain", "platform/process"],
  "shard-view": ["domain", "platform/process"],
  requests: ["domain", "platform/process", "platform/kube"],
};
/** What a demonstration may import: its nodes are real agents. */
const SANDBOX: Readonly<Record<string, readonly string[]>> = {
  apiserver: ["domain", "platform"],
  controllers: ["sandbox/apiserver", "domain"],
  hollow: ["agent", "domain", "platform"],
  playground: ["sandbox/hollow", "domain", "platform"],
  virtual: ["sandbox/apiserver", "domain", "platform"],
};

/** A package, the files that may import it, and those that may import its types alone. */
interface OwnedPackage {
  readonly name: RegExp;
  readonly owner: RegExp;
  readonly types?: RegExp;
  readonly where: string;
}

/** Packages that only a few files may import, so that everything else can be read, tested and replaced without them. */
const OWNED_PACKAGES: readonly OwnedPackage[] = [
  { name: /^zod$/, owner: /^(protocols|services\/platform)\//, where: "protocols/ and services/platform/" },
  { name: /^xstate$/, owner: /\.(machine|service)\.ts$/, where: "*.machine.ts and *.service.ts" },
  {
    name: /^@nats-io\//,
    owner: /^services\/(platform\/bus\/nats[a-z.]*|ledger\/record\/[a-z.-]*store[a-z.-]*)\.ts$/,
    where: "services/platform/bus/nats*.ts and the ledger's store",
  },
  {
    name: /^@kubernetes\//,
    owner: /^test\//,
    types: /^services\/platform\/kube\/write\/sent-bodies\.ts$/,
    where: "test/, and its types in services/platform/kube/write/sent-bodies.ts",
  },
  { name: /^pino$/, owner: /^services\/platform\/process\/log\.ts$/, where: "services/platform/process/log.ts" },
  {
    name: /^prom-client$/,
    owner: /^services\/platform\/process\/metrics\.ts$/,
    where: "services/platform/process/metrics.ts",
  },
  {
    name: /^croner$/,
    owner: /^services\/domain\/cron-schedule\.ts$/,
    where: "services/domain/cron-schedule.ts",
  },
  { name: /^yaml$/, owner: /^services\/(platform|cli)\//, where: "services/platform/ and services/cli/" },
];

/** Files of a service that touch the machine: sockets, files, /proc. Everything else in a service is an actor. */
const EDGES = [
  /^services\/console\//,
  /^services\/sandbox\/apiserver\/http\/http-[a-z-]+\.ts$/,
  /^services\/agent\/host[a-z.-]*\.ts$/,
  /^services\/ledger\/record\/[a-z.-]*store[a-z.-]*\.ts$/,
];

/** The kinds of folders whose files are actors and what actors call. */
const ACTOR_KINDS: ReadonlySet<Kind | null> = new Set<Kind>(["structures", "domain", "service", "sandbox"]);

/** The kind of the folder of a path; null for other files, such as a tool's configuration. */
export function kindOf(path: string): Kind | null {
  const [top, folder] = path.split("/");
  if (top === "protocols" || top === "test") return top;
  if (top !== "services") return null;
  if (folder === "main.ts" || folder === "cli") return "top";
  if (folder === "structures" || folder === "domain" || folder === "platform" || folder === "sandbox") return folder;
  return "service";
}

/** Whether a file may not wait and may use only its arguments. */
export function isActor(path: string): boolean {
  return ACTOR_KINDS.has(kindOf(path)) && !EDGES.some((edge) => edge.test(path));
}

const direction: Rule = {
  name: "a room imports only the rooms below it, and a service never a service",
  applies: (path) => kindOf(path) !== null,
  check: (source) =>
    relativeImports(source)
      .filter(({ target }) => !mayImport(source.path, target))
      .map(({ target, line }) => ({ path: source.path, line, problem: `may not import ${target}` })),
};

const packages: Rule = {
  name: "a package is imported only by the files that own it",
  applies: (path) => kindOf(path) !== null && kindOf(path) !== "test",
  check: (source) =>
    source.imports.flatMap(({ specifier, at }) => {
      const owned = OWNED_PACKAGES.find(({ name }) => name.test(specifier));
      if (owned === undefined || owned.owner.test(source.path)) return [];
      if (owned.types?.test(source.path) && source.text.startsWith("import type ", at)) return [];
      return [
        { path: source.path, line: lineAt(source, at), problem: `${specifier} is imported only in ${owned.where}` },
      ];
    }),
};

const builtins: Rule = {
  name: "protocols, domain rules and actors import nothing of Node's but its pure functions",
  applies: (path) => kindOf(path) === "protocols" || isActor(path),
  check: (source) =>
    source.imports
      .filter(({ specifier }) => specifier.startsWith("node:") && specifier !== "node:util")
      .map(({ specifier, at }) => ({
        path: source.path,
        line: lineAt(source, at),
        problem: `${specifier}: take it as a port from services/platform instead`,
      })),
};

const pure: Rule = {
  name: "a policy or a machine imports no service",
  applies: (path) => /\.(policy|machine)\.ts$/.test(path),
  check: (source) =>
    relativeImports(source)
      .filter(({ target }) => target.endsWith(".service.ts"))
      .map(({ target, line }) => ({ path: source.path, line, problem: `decisions may not import ${target}` })),
};

/** Files that find programs which npm does not install, and skip suites without them. */
const SERVERS = /^test\/support\/(?:nats-programs|kube-assets|chromium)\.ts$/;

const sets: Rule = {
  name: "a test that needs a server is named *.real.test.ts",
  applies: (path) => path.endsWith(".test.ts") && !path.endsWith(".real.test.ts"),
  check: (source) =>
    relativeImports(source)
      .filter(({ target }) => SERVERS.test(target))
      .map(({ target, line }) => ({ path: source.path, line, problem: `imports ${target}: name it *.real.test.ts` })),
};

/** The rules of this file. */
export const IMPORT_RULES: readonly Rule[] = [direction, packages, builtins, pure, sets];

function relativeImports(source: Source): { target: string; line: number }[] {
  return source.imports
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier, at }) => ({
      target: posix.join(posix.dirname(source.path), specifier),
      line: lineAt(source, at),
    }));
}

function mayImport(path: string, target: string): boolean {
  const [from, to] = [kindOf(path), kindOf(target)];
  if (from === null || to === null || from === "test" || roomOf(path) === roomOf(target)) return true;
  if (from === "top") return to !== "test";
  if (to === "protocols") return true;
  if (to === "structures") return from !== "protocols";
  return allowedFor(from, roomOf(path)).some((room) => `${roomOf(target)}/`.startsWith(`${room}/`));
}

/** The folders, by prefix, that a folder may import besides itself, structures and protocols/. */
function allowedFor(kind: Kind, room: string): readonly string[] {
  const folder = room.split("/")[1] ?? "";
  if (kind === "service") return ["domain", "platform"];
  if (kind === "platform") return PLATFORM[folder] ?? [];
  if (kind === "sandbox") return SANDBOX[folder] ?? [];
  return [];
}

/** The folder of a path: `node`, `domain`, `platform/kube`. */
function roomOf(path: string): string {
  const [top = "", folder = "", inner = ""] = path.split("/");
  if (top !== "services") return top;
  return folder === "platform" || folder === "sandbox" ? `${folder}/${inner}` : folder;
}

/** Circles of imports among the shipped files, each with the files on it: nobody can read one of them alone. */
export function importCircles(sources: readonly Source[]): Breach[] {
  const shipped = sources.filter(({ path }) => kindOf(path) !== "test" && kindOf(path) !== null);
  const importsOf = new Map(shipped.map((source) => [source.path, relativeImports(source)]));
  const done = new Set<string>();
  const breaches: Breach[] = [];
  const follow = (path: string, way: readonly string[]): void => {
    for (const { target, line } of importsOf.get(path) ?? []) {
      const start = [...way, path].indexOf(target);
      if (start >= 0) breaches.push({ path, line, problem: `circle: ${[...way, path].slice(start).join(", ")}` });
      else if (!done.has(target)) follow(target, [...way, path]);
    }
    done.add(path);
  };
  for (const path of importsOf.keys()) if (!done.has(path)) follow(path, []);
  return breaches;
}

/** Breaches of runtime dependencies that no shipped file imports; `dependencies` are the names in package.json. */
export function unusedDependencies(sources: readonly Source[], dependencies: readonly string[]): Breach[] {
  const shipped = sources.filter(({ path }) => kindOf(path) !== "test" && kindOf(path) !== null);
  const used = new Set(shipped.flatMap(({ imports }) => imports.map(({ specifier }) => packageOf(specifier))));
  // The dashboard's packages run in the browser, so a file that serves them names them.
  const isServed = (name: string): boolean => shipped.some(({ text }) => text.includes(`"${name}/`));
  return dependencies
    .filter((name) => !used.has(name) && !isServed(name))
    .map((name) => ({ path: "package.json", line: 1, problem: `dependency ${name} is used by no shipped file` }));
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
