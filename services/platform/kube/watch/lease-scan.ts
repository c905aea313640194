/**
 * The fast path for lease events: reads name, resourceVersion and renewTime from the bytes of a watch line without
 * parsing it. Leases are nearly all that watches bring (10,000 a second in a cluster of 100,000 nodes). A line that is
 * not exactly as Kubernetes writes it is parsed instead.
 */
import type { ObservedLease } from "../../../../protocols/ports.ts";
import { epochMsOf } from "../../../domain/api-time.ts";

/** What a watch line contains, read without parsing it. */
export interface Scanned<T> {
  readonly object: T;
  readonly resourceVersion: string;
}

const OBJECT = '"object":{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"';
const HEADS = [`{"type":"MODIFIED",${OBJECT}`, `{"type":"ADDED",${OBJECT}`];
/** A field whose value is a string without escapes, or an integer. */
const PLAIN_FIELD = '"[A-Za-z]+":(?:"[^"\\\\]*"|\\d+)';
/** From the name up to metadata's own resourceVersion: plain fields only. */
const IDENTITY = new RegExp(`^([a-z0-9.-]+)",(?:${PLAIN_FIELD},)*?"resourceVersion":"(\\d+)"`);
/** Holds the longest name (253), namespace, self link and uid. */
const IDENTITY_LENGTH_MAX = 1000;
/** The end of the line: a spec of plain fields, with nothing behind it. */
const SPEC = new RegExp(`"spec":\\{(?:${PLAIN_FIELD},)*?"renewTime":"([0-9TZ:.-]+)"(?:,${PLAIN_FIELD})*\\}\\}\\}$`);
const SPEC_LENGTH_MAX = 500;

/** The lease in a watch line, or null when the line must be parsed. */
export function scanLease(line: Uint8Array): Scanned<ObservedLease> | null {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength);
  const start = headLength(bytes);
  if (start === 0) return null;
  const identity = IDENTITY.exec(bytes.toString("latin1", start, start + IDENTITY_LENGTH_MAX));
  const spec = SPEC.exec(bytes.toString("latin1", Math.max(start, bytes.length - SPEC_LENGTH_MAX), bytes.length));
  const [, name, resourceVersion] = identity ?? [];
  const renewTime = spec?.[1];
  if (name === undefined || resourceVersion === undefined || renewTime === undefined) return null;
  const renewedAt = epochMsOf(renewTime);
  if (renewedAt === null) return null;
  // A new string, because a substring would keep the longer one in memory.
  const node = bytes.toString("latin1", start, start + name.length);
  return { object: { node, renewedAt }, resourceVersion };
}

function headLength(bytes: Buffer): number {
  for (const head of HEADS) {
    if (bytes.toString("latin1", 0, head.length) === head) return head.length;
  }
  return 0;
}
