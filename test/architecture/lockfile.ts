/**
 * Completes package-lock.json: `npm ci` refuses a lock that lacks an optional package, and npm leaves out those of
 * other platforms when the registry at hand does not have them.
 */

interface LockedPackage {
  readonly version?: string;
  readonly optional?: boolean;
  readonly dev?: boolean;
  readonly license?: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The part of a lock file that is checked. */
interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const LIBC: Readonly<Record<string, readonly string[]>> = {
  musl: ["musl"],
  musleabihf: ["musl"],
  gnu: ["glibc"],
  gnueabihf: ["glibc"],
};

/** The lock file's text with every optional package in it; unchanged when none is missing. */
export function completedLock(text: string): string {
  const lock: Lock = JSON.parse(text);
  const missing = Object.entries(lock.packages).flatMap(([holder, { optionalDependencies = {}, dev, license }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !isLocked(lock, holder, name))
      .map(([name, version]) => [`node_modules/${name}`, { version, dev, license, ...platformOf(name) }] as const),
  );
  if (missing.length === 0) return text;
  // In npm's order, so that npm does not move them again.
  const packages = [...Object.entries(lock.packages), ...missing].sort(([left], [right]) =>
    left.localeCompare(right, "en"),
  );
  return `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`;
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
