/** The order of resourceVersions. */

/**
 * Whether a resource version is older than another. They are compared as the API compares them, as whole numbers of any
 * size; one that is no such number is never older.
 */
export function isOlderVersion(version: string, than: string): boolean {
  if (!isNumber(version) || !isNumber(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}

/** Whether a resource version is the same as another, or a newer number. */
export function isAtLeast(version: string, other: string): boolean {
  return version === other || isOlderVersion(other, version);
}

function isNumber(version: string): boolean {
  return /^[1-9]\d*$/.test(version);
}
