/** The zone key of a node, from its labels. */
import { Label } from "../../protocols/names.ts";

/** Between region and zone: a NUL, which no label value can contain (R2.3). */
const SEPARATOR = ":\u0000:";

/** The zone key of a node with these labels (R2.1–R2.3); empty when neither region nor zone is known. */
export function zoneKeyOf(labels: Readonly<Record<string, string>>): string {
  const region = labels[Label.regionBeta] ?? labels[Label.region] ?? "";
  const zone = labels[Label.zoneBeta] ?? labels[Label.zone] ?? "";
  return region === "" && zone === "" ? "" : `${region}${SEPARATOR}${zone}`;
}

/** A zone key for people: `region/zone`, or the one that is set, or `(no zone)`. */
export function zoneTitleOf(zoneKey: string): string {
  return zoneKey.split(SEPARATOR).filter(Boolean).join("/") || "(no zone)";
}

/** Whether a person's text names this zone: by its key, by its title, or by the title without the region. */
export function namesZone(text: string, zoneKey: string): boolean {
  const title = zoneTitleOf(zoneKey);
  return text === zoneKey || text === title || title.endsWith(`/${text}`);
}

/** How metrics name a zone: readable, or by its key as upstream does. */
export type ZoneLabel = "readable" | "upstream";

/**
 * A zone key as the value of a metric's label: `region/zone`, `zone` without a region, `region/` without a zone, and
 * empty without both. Different keys have different values, because no label of a node contains a slash.
 */
export function metricsZoneOf(zoneKey: string, label: ZoneLabel): string {
  if (label === "upstream") return zoneKey;
  const text = zoneKey.replace(SEPARATOR, "/");
  return text.startsWith("/") ? text.slice(1) : text;
}

/** Whether a node with these labels counts in disruption checks: the exclusion label excludes it by its presence. */
export function isCounted(labels: Readonly<Record<string, string>>): boolean {
  return !Object.hasOwn(labels, Label.excludeDisruption);
}
