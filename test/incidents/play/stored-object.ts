/** Objects as etcd stores them, with instants that can be made older. Pure. */

/** An object as the API server answers it. */
export interface AgedObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Instants as the API server writes them; those of leases have a fraction, which stays. */
const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?=(?:\.\d+)?Z)/g;

/** The key of an object in etcd, below its root, and its JSON with all instants so many seconds earlier. */
export function agedEntry(object: AgedObject, seconds: number): readonly [key: string, json: string] {
  const earlier = (instant: string) =>
    new Date(Date.parse(`${instant}Z`) - seconds * 1000).toISOString().slice(0, instant.length);
  return [storageKey(object), JSON.stringify(object).replaceAll(INSTANT, earlier)];
}

function storageKey({ kind, metadata: { namespace = "", name } }: AgedObject): string {
  return kind === "Node" ? `minions/${name}` : `${kind.toLowerCase()}s/${namespace}/${name}`;
}
