/** The zone key of a node, from its labels. */
import { Label } from "../../protocols/names.ts";
import type { NodePolicy } from "../../protocols/policy-set.ts";

/** Between region and zone: a NUL, which no label value can contain (R2.3). */
const SEPARATOR = ":\u0000:";

/** The zone key of a node with these labels (R2.1–R2.3); empty when neither region nor zone is known. */
export function zoneKeyOf(labels: Readonly<Record<string, string>>): string {
  const region = labels[Label.regionBeta] ?? labels[Label.region] ?? "";
  const zone = labels[Label.zoneBeta] ?? labels[Label.zone] ?? "";
  return region === "" && zone === "" ? "" : `${region}${SEPARATOR}${zone}`;
}

/** Between a zone key and the name of a policy. */
const POLICY_SEPARATOR = "\u0000@";

/**
 * The key of the disruption domain of a node: its zone, and its policy where that sets rates or a threshold of its own.
 * Such nodes have their own disruption state, rate and queue; all others share those of their zone.
 */
export function domainKeyOf(labels: Readonly<Record<string, string>>, policy: NodePolicy | null): string {
  const zone = zoneKeyOf(labels);
  return policy === null || !hasDomain(policy) ? zone : `${zone}${POLICY_SEPARATOR}${policy.name}`;
}

/** The zone of a disruption domain, and its policy; null for the nodes that share their zone's. */
export function partsOfDomain(domainKey: string): { readonly zone: string; readonly policy: string | null } {
  const [zone = "", policy = null] = domainKey.split(POLICY_SEPARATOR);
  return { zone, policy };
}

/** Whether a policy sets a rate or the threshold of disruption. */
function hasDomain(policy: NodePolicy): boolean {
  return (
    policy.nodeEvictionsPerSecond !== null ||
    policy.secondaryNodeEvictionsPerSecond !== null ||
    policy.fullDisruptionEvictionsPerSecond !== null ||
    policy.unhealthyZoneThreshold !== null
  );
}

/** A zone key for people: `region/zone`, or the one that is set, or `(no zone)`; `region/zone@policy` for a domain. */
export function zoneTitleOf(zoneKey: string): string {
  const { zone, policy } = partsOfDomain(zoneKey);
  const title = zone.split(SEPARATOR).filter(Boolean).join("/") || "(no zone)";
  return policy === null ? title : `${title}@${policy}`;
}

/** Whether a person's text names this zone: by its key, by its title, or by the title without the region. */
export function namesZone(text: string, zoneKey: string): boolean {
  const title = zoneTitleOf(zoneKey);
  return text === zoneKey || text === title || title.endsWith(`/${text}`);
}

/** Whether a person's text names a disruption domain, or the zone that it is part of. */
export function namesZoneOf(text: string, domainKey: string): boolean {
  return namesZone(text, domainKey) || namesZone(text, partsOfDomain(domainKey).zone);
}

/** How metrics name a zone: readable, or by its key as upstream does. */
export type ZoneLabel = "readable" | "upstream";

/**
 * A zone key as the value of a metric's label: `region/zone`, `zone` without a region, `region/` without a zone, and
 * empty without both; `@` and the policy follow for a domain. Different keys have different values, because no label of
 * a node contains a slash or an @.
 */
export function metricsZoneOf(zoneKey: string, label: ZoneLabel): string {
  if (label === "upstream") return zoneKey;
  const { zone, policy } = partsOfDomain(zoneKey);
  const text = zone.replace(SEPARATOR, "/");
  const readable = text.startsWith("/") ? text.slice(1) : text;
  return policy === null ? readable : `${readable}@${policy}`;
}

/** Whether a node with these labels counts in disruption checks: the exclusion label excludes it by its presence. */
export function isCounted(labels: Readonly<Record<string, string>>): boolean {
  return !Object.hasOwn(labels, Label.excludeDisruption);
}
