/** The order of resourceVersions. */

/**
 * Whether a resource version is older than another. They are compared as the API compares them, as whole numbers of any
 * size; one that is no such number is never older.
 */
export function isOlderVersion(version: string, than: string): boolean {
  if (!isNumber(version) || !isNumber(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}

function isNumber(version: string): boolean {
  return /^[1-9]\d*$/.test(version);
}
