/** Tidy rules about who may import whom and which package. */
import { posix } from "node:path";
import { type Breach, lineAt, type Rule, type Source } from "./source.ts";

/** From the bottom up: each layer may import itself and the layers below it. */
const LAYERS = ["protocols", "runtime", "service", "top", "test"] as const;
type Layer = (typeof LAYERS)[number];

/** Packages that belong to few files, so that everything else can be read, tested and replaced without them. */
const OWNED_PACKAGES: readonly { readonly name: RegExp; readonly owner: RegExp; readonly where: string }[] = [
  { name: /^zod$/, owner: /^(protocols|services\/runtime)\//, where: "protocols/ and services/runtime/" },
  { name: /^xstate$/, owner: /\.(machine|service)\.ts$/, where: "*.machine.ts and *.service.ts" },
  {
    name: /^@nats-io\//,
    owner: /^services\/(runtime\/bus\.nats[a-z.]*|ledger\/[a-z.-]*store[a-z.-]*)\.ts$/,
    where: "services/runtime/bus.nats*.ts and the ledger's store",
  },
  { name: /^@kubernetes\//, owner: /^services\/runtime\/kube[a-z.-]*\.ts$/, where: "services/runtime/kube*.ts" },
  { name: /^pino$/, owner: /^services\/runtime\/log\.ts$/, where: "services/runtime/log.ts" },
  { name: /^prom-client$/, owner: /^services\/runtime\/metrics\.ts$/, where: "services/runtime/metrics.ts" },
  { name: /^yaml$/, owner: /^services\/(runtime|cli)\//, where: "services/runtime/ and services/cli/" },
];

/** Files of a service that touch the machine: sockets, files, /proc. Everything else in a service is an actor. */
const EDGES =
  /^services\/(console\/|apiserver\/http-[a-z-]+\.ts|agent\/host[a-z.-]*\.ts|ledger\/[a-z.-]*store[a-z.-]*\.ts)/;

/** The layer of a path; null for what is none of ours, such as a tool's configuration. */
export function layerOf(path: string): Layer | null {
  if (path.startsWith("protocols/")) return "protocols";
  if (path.startsWith("services/runtime/")) return "runtime";
  if (path === "services/main.ts" || path.startsWith("services/cli/")) return "top";
  if (path.startsWith("services/")) return "service";
  return path.startsWith("test/") ? "test" : null;
}

/** Whether a file is an actor's: it may not wait, and may touch nothing but what it is given. */
export function isActor(path: string): boolean {
  return layerOf(path) === "service" && !EDGES.test(path);
}

const direction: Rule = {
  name: "imports go from test to services to runtime to protocols, and never from service to service",
  applies: (path) => layerOf(path) !== null,
  check: (source) =>
    relativeImports(source).flatMap(({ target, line }) => {
      const from = layerOf(source.path);
      const to = layerOf(target);
      if (from === null || to === null || !forbidden(source.path, from, target, to)) return [];
      return [{ path: source.path, line, problem: `may not import ${target}` }];
    }),
};

const packages: Rule = {
  name: "a package is imported only by the files that own it",
  applies: (path) => layerOf(path) !== null && layerOf(path) !== "test",
  check: (source) =>
    source.imports.flatMap(({ specifier, at }) => {
      const owned = OWNED_PACKAGES.find(({ name }) => name.test(specifier));
      if (owned === undefined || owned.owner.test(source.path)) return [];
      return [
        { path: source.path, line: lineAt(source, at), problem: `${specifier} is imported only in ${owned.where}` },
      ];
    }),
};

const builtins: Rule = {
  name: "protocols and actors import nothing of Node's but its pure functions",
  applies: (path) => layerOf(path) === "protocols" || isActor(path),
  check: (source) =>
    source.imports
      .filter(({ specifier }) => specifier.startsWith("node:") && specifier !== "node:util")
      .map(({ specifier, at }) => ({
        path: source.path,
        line: lineAt(source, at),
        problem: `${specifier}: take it as a port from services/runtime instead`,
      })),
};

const pure: Rule = {
  name: "a policy or a machine imports no service and no shell of the runtime",
  applies: (path) => /\.(policy|machine)\.ts$/.test(path),
  check: (source) =>
    relativeImports(source)
      .filter(({ target }) => target.endsWith(".service.ts"))
      .map(({ target, line }) => ({ path: source.path, line, problem: `decisions may not import ${target}` })),
};

/** The rules of this file. */
export const IMPORT_RULES: readonly Rule[] = [direction, packages, builtins, pure];

function relativeImports(source: Source): { target: string; line: number }[] {
  return source.imports
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier, at }) => ({
      target: posix.join(posix.dirname(source.path), specifier),
      line: lineAt(source, at),
    }));
}

function forbidden(path: string, from: Layer, target: string, to: Layer): boolean {
  if (LAYERS.indexOf(to) > LAYERS.indexOf(from)) return true;
  return from === "service" && to === "service" && folderOf(path) !== folderOf(target);
}

function folderOf(path: string): string {
  return path.split("/").slice(0, 2).join("/");
}

/** Breaches of runtime dependencies that no shipped file imports; `dependencies` are the names in package.json. */
export function unusedDependencies(sources: readonly Source[], dependencies: readonly string[]): Breach[] {
  const shipped = sources.filter(({ path }) => layerOf(path) !== "test" && layerOf(path) !== null);
  const used = new Set(shipped.flatMap(({ imports }) => imports.map(({ specifier }) => packageOf(specifier))));
  return dependencies
    .filter((name) => !used.has(name))
    .map((name) => ({ path: "package.json", line: 1, problem: `dependency ${name} is imported by no shipped file` }));
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
