/**
 * Makes the image's root file system in the folder it is given: Node, the libraries that it has loaded, and the few
 * files that glibc reads. There is no shell, no package manager and nothing else that an intruder could use.
 */
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Where the kernel finds the loader of a program, by architecture. */
const LOADERS: Readonly<Record<string, string>> = {
  x64: "/lib64/ld-linux-x86-64.so.2",
  arm64: "/lib/ld-linux-aarch64.so.1",
};
/** Libraries that glibc loads only when it resolves a host name. */
const NAME_SERVICE = /^lib(?:nss_dns|nss_files|resolv)\.so\.2$/;
const FILES: Readonly<Record<string, string>> = {
  "/etc/nsswitch.conf": "hosts: files dns\n",
  "/etc/passwd": "vigil:x:65532:65532:vigil:/tmp:/nonexistent\n",
  "/etc/group": "vigil:x:65532:\n",
};

const [, , root] = process.argv;
const loader = LOADERS[process.arch];
if (root === undefined || loader === undefined) throw new Error(`give a folder; ${process.arch} has no known loader`);

copy(process.execPath, "/usr/local/bin/node");
copy(realpathSync(loader), loader);
const libraries = loadedLibraries();
for (const folder of new Set(libraries.map(dirname))) copyLibraries(folder);
for (const [path, text] of Object.entries(FILES)) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
mkdirSync(join(root, "tmp"), { recursive: true });
chmodSync(join(root, "tmp"), 0o1777);

function copy(from: string, to: string): void {
  mkdirSync(dirname(join(root ?? "", to)), { recursive: true });
  cpSync(from, join(root ?? "", to));
}

/** The shared libraries that this process has mapped. */
function loadedLibraries(): string[] {
  const mapped = readFileSync("/proc/self/maps", "utf8").matchAll(/ (\/\S+\.so[.\d]*)$/gm);
  return [...new Set(Array.from(mapped, ([, path = ""]) => path))];
}

/** Copies a folder's libraries under the names that programs use: libstdc++.so.6 and not libstdc++.so.6.0.30. */
function copyLibraries(folder: string): void {
  const names = readdirSync(folder).filter((name) => /\.so[.\d]*$/.test(name));
  const files = names.map((name) => ({ name, path: realpathSync(join(folder, name)) }));
  const linked = new Set(files.filter(({ name, path }) => basename(path) !== name).map(({ path }) => path));
  for (const { name, path } of files) {
    const isUsed = libraries.includes(path) && (basename(path) !== name || !linked.has(path));
    if (isUsed || NAME_SERVICE.test(name)) copy(path, join(folder, name));
  }
}
