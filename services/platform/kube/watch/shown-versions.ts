/** The newest version that watches of one process have shown of each resource: no later list may be older. */
import type { Stop } from "../../../../protocols/ports.ts";
import { isOlderVersion } from "../../../structures/resource-version.ts";

/** What the readers of one process have shown, by the path of the resource. */
export class ShownVersions {
  readonly #versions = new Map<string, string>();
  readonly #followers = new Set<() => void>();

  /** The newest version shown; null before the first. */
  of(path: string): string | null {
    return this.#versions.get(path) ?? null;
  }

  /** Records a version that was shown; one that is older than the newest changes nothing. */
  record(path: string, version: string): void {
    const newest = this.#versions.get(path);
    if (newest === undefined || isOlderVersion(newest, version)) this.#versions.set(path, version);
  }

  /** Records that the server's store went back to a version: whatever was newer does not exist any more. */
  wentBack(path: string, version: string): void {
    this.#versions.set(path, version);
    for (const follower of this.#followers) follower();
  }

  /** Calls `wentBack` when a reader has found that the store went back: that of its resource, and so probably others. */
  follow(wentBack: () => void): Stop {
    this.#followers.add(wentBack);
    return () => this.#followers.delete(wentBack);
  }
}
