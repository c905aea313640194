/** Quantities in the canonical form of the real server: 1024Mi is 1Gi, 4000m is 4. */

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?$/;
/** Canonical already: the number is too small for a larger suffix. */
const FINAL = /^[1-9]\d{0,2}(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E)?$/;
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/** Precision: billionths. */
const SCALE = 9;

/** A quantity in its canonical form; null if it is malformed. */
export function canonicalQuantity(text: string): string | null {
  if (FINAL.test(text)) return text;
  const match = QUANTITY.exec(text);
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match ?? [];
  if (match === null || whole + fraction === "") return null;
  const billionths = billionthsOf(whole, fraction, suffix);
  if (billionths === 0n) return "0";
  const minus = sign === "-" ? "-" : "";
  // Less than 1024 has no binary suffix.
  if (BINARY.indexOf(suffix) > 0 && billionths >= 1024n * 10n ** BigInt(SCALE)) {
    return minus + binary(ceilDivided(billionths, 10n ** BigInt(SCALE)));
  }
  return minus + decimal(billionths, /^[eE][+-]?\d/.test(suffix));
}

function billionthsOf(whole: string, fraction: string, suffix: string): bigint {
  const digits = BigInt(whole + fraction);
  const power = SCALE - fraction.length + exponentOf(suffix);
  const factor = 1024n ** BigInt(Math.max(0, BINARY.indexOf(suffix)));
  return power >= 0 ? digits * factor * 10n ** BigInt(power) : ceilDivided(digits * factor, 10n ** BigInt(-power));
}

function exponentOf(suffix: string): number {
  if (BINARY.includes(suffix)) return 0;
  const place = DECIMAL.indexOf(suffix);
  return place < 0 ? Number(suffix.slice(1)) : place * 3 - SCALE;
}

function binary(amount: bigint): string {
  let [rest, place] = [amount, 0];
  while (rest % 1024n === 0n && place < BINARY.length - 1) [rest, place] = [rest / 1024n, place + 1];
  return `${rest}${BINARY[place]}`;
}

function decimal(billionths: bigint, asExponent: boolean): string {
  let [rest, place] = [billionths, 0];
  while (rest % 1000n === 0n && place < DECIMAL.length - 1) [rest, place] = [rest / 1000n, place + 1];
  const exponent = place * 3 - SCALE;
  if (asExponent) return exponent === 0 ? String(rest) : `${rest}e${exponent}`;
  return `${rest}${DECIMAL[place]}`;
}

/** Divided and rounded up, as upstream rounds excess precision. */
function ceilDivided(amount: bigint, by: bigint): bigint {
  return (amount + by - 1n) / by;
}
