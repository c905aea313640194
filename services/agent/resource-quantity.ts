/** Kubernetes quantities as numbers and text, and the kinds of resource names. */
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;
const DECIMAL_POWERS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
};
const FORM = /^([+-]?\d+(?:\.\d*)?|[+-]?\.\d+)(?:([KMGTPE]i)|([numkMGTPE]?)|[eE]([+-]?\d+))$/;

/** The amount of a quantity in its base unit; null if the text is not a quantity. */
export function amountOf(text: string): number | null {
  const match = FORM.exec(text.trim());
  if (match === null) return null;
  const [, digits = "0", binary, decimal = "", exponent] = match;
  const amount = Number(digits);
  if (binary !== undefined) return amount * 1024 ** BINARY.indexOf(binary as (typeof BINARY)[number]);
  if (exponent !== undefined) return amount * 10 ** Number(exponent);
  return amount * (DECIMAL_POWERS[decimal] ?? 1);
}

/** A number of bytes as the API writes it: the largest binary suffix that leaves a whole number. */
export function bytesText(bytes: number): string {
  let amount = Math.floor(bytes);
  let step = 0;
  while (amount !== 0 && amount % 1024 === 0 && step < BINARY.length - 1) {
    amount /= 1024;
    step++;
  }
  return `${amount}${BINARY[step]}`;
}

/** A count, such as cores, as the API writes it: whole, or in thousandths. */
export function countText(amount: number): string {
  const thousandths = Math.round(amount * 1000);
  return thousandths % 1000 === 0 ? String(thousandths / 1000) : `${thousandths}m`;
}

/** The amount of a resource as the API writes it: bytes for memory, storage and huge pages, else a count. */
export function quantityText(resource: string, amount: number): string {
  const inBytes = resource === "memory" || resource === "ephemeral-storage" || isHugePages(resource);
  return inBytes ? bytesText(amount) : countText(amount);
}

/** Whether a resource name is one of huge pages (R9.7). */
export function isHugePages(resource: string): boolean {
  return resource.startsWith("hugepages-");
}

/** Whether a resource is extended (R9.7): outside kubernetes.io, and valid with the prefix `requests.` of quotas. */
export function isExtended(resource: string): boolean {
  const slash = resource.indexOf("/");
  if (slash < 1 || resource.startsWith("requests.")) return false;
  const domain = resource.slice(0, slash);
  if (domain === "kubernetes.io" || domain.endsWith(".kubernetes.io")) return false;
  const [prefix, name, more] = `requests.${resource}`.split("/");
  if (prefix === undefined || name === undefined || more !== undefined) return false;
  const validPrefix =
    prefix.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(prefix);
  return validPrefix && name.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name);
}
