/**
 * Whether a controller acts on the out-of-service taint: kube-controller-manager does since 1.26, by default. 1.24 and
 * 1.25 have a feature gate for it, and older versions do not know it. Pure.
 */
import type { ServerVersion } from "../../platform/kube/transport/server-version.ts";

/** The feature gate of 1.24 and 1.25. */
const GATE = "NodeOutOfServiceVolumeDetach";
const GATED_MINOR = 24;
const DEFAULT_MINOR = 26;

/** `none`: nothing in this version acts on the taint; `gated`: only with the feature gate. */
export interface MissingSupport {
  readonly kind: "none" | "gated";
  /** For people, to follow a colon or a comma, such as `nothing in Kubernetes 1.20 acts on the out-of-service taint`. */
  readonly text: string;
}

/**
 * Why no controller acts on the taint in a cluster of this version; null where kube-controller-manager does, and where
 * the version is not known. It may be one minor version older than its API server, which this neglects.
 */
export function missingSupport(version: ServerVersion | null): MissingSupport | null {
  if (version === null || version.major > 1 || version.minor >= DEFAULT_MINOR) return null;
  const name = `Kubernetes ${version.major}.${version.minor}`;
  return version.minor < GATED_MINOR
    ? { kind: "none", text: `nothing in ${name} acts on the out-of-service taint` }
    : { kind: "gated", text: `${name} acts on the out-of-service taint only with the feature gate ${GATE}` };
}
