/**
 * Completes package-lock.json: `npm ci` refuses a lock that lacks an optional package, and npm leaves out those of
 * other platforms when the registry at hand does not have them. A package without a hash is whatever a registry sends.
 */

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly dev?: boolean | undefined;
  readonly license?: string | undefined;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The part of a lock file that is checked. */
interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const INSTALLED = "node_modules/";
const LIBC: Readonly<Record<string, readonly string[]>> = {
  musl: ["musl"],
  musleabihf: ["musl"],
  gnu: ["glibc"],
  gnueabihf: ["glibc"],
};

/** The hash of a published package, as the registry gives it. */
export type IntegrityOf = (name: string, version: string) => string;

/** The lock file's text with every optional package in it, and a hash of each; unchanged when none is missing. */
export function completedLock(text: string, integrityOf: IntegrityOf): string {
  const lock: Lock = JSON.parse(text);
  const missing = Object.entries(lock.packages).flatMap(([holder, { optionalDependencies = {}, dev, license }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !isLocked(lock, holder, name))
      .map(([name, version]) => [`node_modules/${name}`, { version, dev, license, ...platformOf(name) }] as const),
  );
  const lacksHash = unhashedPackages(text).length > 0;
  if (missing.length === 0 && !lacksHash) return text;
  // In npm's order, so that npm does not move them again.
  const packages = [...Object.entries(lock.packages), ...missing]
    .sort(([left], [right]) => left.localeCompare(right, "en"))
    .map(([path, locked]) => [path, isHashed(path, locked) ? locked : withHash(path, locked, integrityOf)]);
  return `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`;
}

/** The packages of a lock file that have no hash, by path. */
export function unhashedPackages(text: string): string[] {
  const { packages }: Lock = JSON.parse(text);
  return Object.entries(packages).flatMap(([path, locked]) => (isHashed(path, locked) ? [] : [path]));
}

/** Whether a package has a hash; the folders of this repository need none. */
function isHashed(path: string, { integrity, link }: LockedPackage): boolean {
  return integrity !== undefined || link === true || !path.includes(INSTALLED);
}

function withHash(path: string, { version = "", ...others }: LockedPackage, integrityOf: IntegrityOf): LockedPackage {
  const name = path.slice(path.lastIndexOf(INSTALLED) + INSTALLED.length);
  return { version, integrity: integrityOf(name, version), ...others };
}

function isLocked({ packages }: Lock, holder: string, name: string): boolean {
  return [`node_modules/${name}`, `${holder}/node_modules/${name}`].some((path) => Object.hasOwn(packages, path));
}

/** The platform that a package of binaries is for, read from its name: `@oxlint/binding-linux-x64-musl`. */
function platformOf(name: string): LockedPackage {
  const [os = "", cpu = "", libc = ""] = (name.split("/")[1] ?? name).replace(/^(cli|binding|rollup)-/, "").split("-");
  const needed = os === "linux" ? LIBC[libc] : undefined;
  return { optional: true, os: [os], cpu: [cpu], ...(needed === undefined ? {} : { libc: needed }) };
}
