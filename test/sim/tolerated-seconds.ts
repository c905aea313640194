/** How long a pod tolerates a taint, by R8.33 and R8.34, written a second time. */
import type { CheckedPod, CheckedTaint, CheckedToleration } from "./invariants.ts";

const INT64_MAX = 2n ** 63n - 1n;

/**
 * How many seconds a pod tolerates a taint: those of its first toleration that covers it, infinity for ever, null when
 * none does. Where Lt and Gt are not compared, it is not known whether such a toleration covers the taint, and the pod
 * stays; upstream evicts it.
 */
export function secondsFor({ spec }: CheckedPod, taint: CheckedTaint, isComparing = false): number | null {
  const toleration = (spec.tolerations ?? []).find((each) => covers(each, taint, isComparing) !== false);
  if (toleration === undefined) return null;
  const isUnreadable = covers(toleration, taint, isComparing) === null;
  return isUnreadable ? Number.POSITIVE_INFINITY : (toleration.tolerationSeconds ?? Number.POSITIVE_INFINITY);
}

/** Whether a pod stays with a taint because no process compares by the operator of its toleration. */
export function isUnreadable({ spec }: CheckedPod, taint: CheckedTaint, isComparing: boolean): boolean {
  const first = (spec.tolerations ?? []).find((each) => covers(each, taint, isComparing) !== false);
  return first !== undefined && covers(first, taint, isComparing) === null;
}

/** Whether a toleration covers a taint; null where that cannot be read. */
function covers(toleration: CheckedToleration, taint: CheckedTaint, isComparing: boolean): boolean | null {
  const { key, operator = "", value = "", effect } = toleration;
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === "Exists") return true;
  if (operator === "" || operator === "Equal") return value === (taint.value ?? "");
  if (!isComparing) return null;
  const [own, other] = [integerOf(value), integerOf(taint.value ?? "")];
  if (own === null || other === null) return false;
  return operator === "Lt" ? other < own : other > own;
}

/** An int64 as `strconv` writes it; null for any other text. */
function integerOf(text: string): bigint | null {
  if (!/^-?[0-9]+$/.test(text)) return null;
  const integer = BigInt(text);
  const isCanonical = integer.toString() === text;
  return isCanonical && integer <= INT64_MAX && integer >= -INT64_MAX - 1n ? integer : null;
}
