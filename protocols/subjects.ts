/** NATS subjects: how they are built and matched. No code parses a subject; the body has the names. */

/** Number of shards into which node names and zone keys are hashed. All members must agree on it. */
export const SHARD_COUNT = 64;

/** First token of every subject, with the wire version. */
export const SUBJECT_ROOT = "vigil.v1";

const FNV_OFFSET_BASIS = 2166136261;
const FNV_PRIME = 16777619;
const utf8 = new TextEncoder();

/** 32-bit FNV-1a over the UTF-8 bytes of a text, as in NATS' partition() and the upstream taint manager (R8.1). */
export function fnv1a(text: string): number {
  let hash = FNV_OFFSET_BASIS;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) return fnv1aBytes(utf8.encode(text));
    hash = Math.imul(hash ^ unit, FNV_PRIME);
  }
  return hash >>> 0;
}

function fnv1aBytes(bytes: Uint8Array): number {
  let hash = FNV_OFFSET_BASIS;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return hash >>> 0;
}

/** Spreads a hash over all its bits (finalizer of MurmurHash3): FNV leaves texts with a common end close together. */
export function scatter(hash: number): number {
  let bits = hash ^ (hash >>> 16);
  bits = Math.imul(bits, 0x85ebca6b);
  bits ^= bits >>> 13;
  bits = Math.imul(bits, 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** The shard of a node name or zone key, 0 to SHARD_COUNT - 1. */
export function shardOf(key: string): number {
  return fnv1a(key) % SHARD_COUNT;
}

/**
 * A subject token for any text, injective. Letters, digits and `-` are kept, every other UTF-16 unit becomes `=` and
 * four hex digits, and the empty text becomes `_`, because NATS drops a subject with an empty token.
 */
export function token(text: string): string {
  if (text === "") return "_";
  return text.replace(/[^A-Za-z0-9-]/g, (unit) => `=${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The subject of a message: root, cluster, type (`kind.noun`), shard and the tokens of the key. */
export function subjectOf(cluster: string, type: string, shard: number, key: readonly string[]): string {
  const head = `${SUBJECT_ROOT}.${token(cluster)}.${type}.${shard}`;
  return key.length === 0 ? head : `${head}.${key.map(token).join(".")}`;
}

/** The subscription pattern for a message type with `keyTokens` key tokens, on one shard or on all. */
export function patternOf(cluster: string, type: string, shard: number | "all", keyTokens: number): string {
  const head = `${SUBJECT_ROOT}.${token(cluster)}.${type}.${shard === "all" ? "*" : shard}`;
  return keyTokens === 0 ? head : `${head}${".*".repeat(keyTokens)}`;
}

/** Whether a subject matches a pattern with NATS wildcards: `*` for one token, `>` for one or more at the end. */
export function matches(pattern: string, subject: string): boolean {
  const wanted = pattern.split(".");
  const tokens = subject.split(".");
  for (const [index, want] of wanted.entries()) {
    if (want === ">") return tokens.length > index;
    if (index >= tokens.length) return false;
    if (want !== "*" && want !== tokens[index]) return false;
  }
  return wanted.length === tokens.length;
}
