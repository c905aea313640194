/** The server's part of metadata: identity, generated names, and fields that updates cannot change. Pure. */
import { apiTime } from "../../../domain/api-time.ts";
import type { ApiObject, ObjectMeta } from "../api-objects.ts";

/** Characters of generated names: no vowels, and none that resembles another. */
const NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789";
const NAME_LETTERS_COUNT = 5;

/** The fields that an update copies from the present object. */
const KEPT = ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"] as const;

/** A random UUID (version 4) from an injected source of chance. */
function randomUid(random: () => number): string {
  const digits = Array.from({ length: 4 }, () =>
    Math.floor(random() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, "0"),
  ).join("");
  const variant = "89ab"[Number.parseInt(digits[16] ?? "0", 16) & 3];
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-${variant}${digits.slice(17, 20)}-${digits.slice(20)}`;
}

/** A name that begins with `prefix`, as generateName requires. */
function generatedName(prefix: string, random: () => number): string {
  const letters = Array.from(
    { length: NAME_LETTERS_COUNT },
    () => NAME_LETTERS[Math.floor(random() * NAME_LETTERS.length)],
  );
  return prefix.slice(0, 63 - NAME_LETTERS_COUNT) + letters.join("");
}

/** Sets the identity of a new object, whatever the client sent; changes its argument. */
export function identify(object: ApiObject, namespace: string, now: { wallMs: number; random: () => number }): void {
  const meta = object.metadata;
  if ((meta.name ?? "") === "") meta.name = meta.generateName ? generatedName(meta.generateName, now.random) : "";
  if (namespace !== "") meta.namespace = namespace;
  for (const field of [...KEPT, "resourceVersion", "selfLink", "managedFields"]) delete meta[field];
  meta.uid = randomUid(now.random);
  meta.creationTimestamp = apiTime(now.wallMs);
}

/** Copies what an update cannot change from `before`; changes its first argument. */
export function keepIdentity(object: ApiObject, before: ApiObject): void {
  const meta: ObjectMeta = object.metadata;
  for (const field of [...KEPT, "namespace"] as const) {
    const value = before.metadata[field];
    if (value === undefined) delete meta[field];
    else (meta as Record<string, unknown>)[field] = value;
  }
  delete meta.selfLink;
  delete meta.managedFields;
}
