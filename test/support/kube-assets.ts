/**
 * The programs of a real Kubernetes control plane: where they are, and what to do when they are missing. It starts
 * nothing.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describeUnless } from "./describe-unless.ts";

/** The programs of a control plane that tests use. */
type ControlPlaneProgram = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler" | "kubectl";
/** Kubelets on a fake container runtime, and upstream's compiled tests. */
type UpstreamProgram = "kubemark" | "node.test" | "scheduler.test" | "e2e.test";
/** The programs tests use. */
export type KubeProgram = ControlPlaneProgram | UpstreamProgram;

/** What every suite with a real API server needs. */
const API_SERVER: readonly KubeProgram[] = ["etcd", "kube-apiserver"];

/** What a test prints when the programs are missing. */
const KUBE_ASSETS_MISSING =
  "no kube-apiserver and etcd: set KUBEBUILDER_ASSETS to a folder that holds them, as `setup-envtest use -p path` prints it";

/**
 * The folder of the programs: KUBE_TESTS, which must contain them, KUBEBUILDER_ASSETS, or the cache of the build that
 * includes the controller manager.
 */
function kubeAssets(): string | null {
  const { KUBE_TESTS, KUBEBUILDER_ASSETS } = process.env;
  if (KUBE_TESTS) return KUBE_TESTS;
  const folders = [KUBEBUILDER_ASSETS, join(homedir(), ".cache/kube-assets/1.20.2")];
  const has = (folder: string): boolean => API_SERVER.every((program) => pathIn(folder, program));
  return folders.filter((folder) => folder !== undefined).find(has) ?? null;
}

/** The path of a program of this folder, or of its `upstream-tests`, where the build puts upstream's tests. */
function pathIn(folder: string, program: string): string | undefined {
  return [folder, join(folder, "upstream-tests")].map((place) => join(place, program)).find((path) => existsSync(path));
}

/** The path of one program. */
export function kubeProgram(program: KubeProgram): string {
  const folder = kubeAssets();
  if (folder === null) throw new Error(KUBE_ASSETS_MISSING);
  const path = pathIn(folder, program);
  if (path === undefined) throw new Error(`no ${program} in ${folder}`);
  return path;
}

/** Whether a program of this version has a flag; flags come and go between versions. */
export function hasFlag(program: KubeProgram, flag: string): boolean {
  return helpOf(program).includes(`--${flag} `);
}

/**
 * Why this kube-apiserver cannot serve custom resources; null if it can, or is missing. Before Kubernetes 1.23 one that
 * is built with Go 1.18 or later ends at the first of their objects, unless its vendored reflect2 is 1.0.2 or later,
 * which has a file for that.
 */
export function customResourcesBroken(): string | null {
  if (missingOf([]) !== null) return null;
  const program = readFileSync(kubeProgram("kube-apiserver"));
  const isLaterGo = /^go1\.(1[89]|[2-9]\d)/.test(goVersionIn(program));
  if (!isLaterGo || program.includes("reflect2/go_above_118.go")) return null;
  return "this kube-apiserver ends at the first custom resource: build it with github.com/modern-go/reflect2 v1.0.2";
}

/** The Go version that a program names first; "" for none. */
function goVersionIn(program: Buffer): string {
  const at = program.indexOf("go1.");
  return at < 0 ? "" : program.toString("latin1", at, at + 12);
}

/** Whether the controller manager of this version has a controller; with an unknown name it does not start. */
export function hasController(name: string): boolean {
  return new RegExp(`[ ,]${name}[, ]`).test(helpOf("kube-controller-manager"));
}

/**
 * Whether the pod garbage collector of this kube-controller-manager acts on the out-of-service taint: since 1.26 by
 * default. Later versions do not list that feature any more, but a controller that came before it left the list.
 */
export function collectsOutOfService(): boolean {
  const isDefault = /NodeOutOfServiceVolumeDetach=.*default=true/.test(helpOf("kube-controller-manager"));
  return isDefault || hasController("taint-eviction-controller");
}

const helps = new Map<KubeProgram, string>();

function helpOf(program: KubeProgram): string {
  const known = helps.get(program);
  if (known !== undefined) return known;
  const help = execFileSync(kubeProgram(program), ["--help"], { encoding: "utf8" });
  helps.set(program, help);
  return help;
}

/**
 * A suite that needs a real API server, and perhaps more programs. Without them it is skipped with a line on how to get
 * them; where CI is set it fails.
 */
export function describeWithKube(
  name: string,
  suite: () => void | Promise<void>,
  programs: readonly KubeProgram[] = [],
): void {
  describeUnless(missingOf(programs), name, suite);
}

function missingOf(programs: readonly KubeProgram[]): string | null {
  const folder = kubeAssets();
  if (folder === null) return KUBE_ASSETS_MISSING;
  const missing = [...API_SERVER, ...programs].filter((program) => pathIn(folder, program) === undefined);
  return missing.length === 0 ? null : `no ${missing.join(", ")} in ${folder}`;
}
