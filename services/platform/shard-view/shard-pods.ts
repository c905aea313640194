/** Joins the chunks of `observed.pods` and keeps the last complete version of each node's pods. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedPod } from "../../../protocols/objects.ts";
import { PODS_CHUNKS_MAX } from "../../../protocols/observed.ts";

/** The pods of one node in one version. */
export interface PodsOfNode {
  readonly version: string;
  readonly pods: readonly ObservedPod[];
}

interface Assembly {
  readonly version: string;
  readonly parts: (readonly ObservedPod[] | undefined)[];
  missing: number;
}

/** The pods of the nodes of one shard. */
export class ShardPods {
  readonly #complete = new Map<string, PodsOfNode>();
  readonly #assemblies = new Map<string, Assembly>();

  /** The last complete version of a node's pods; null when there is none. */
  of(node: string): PodsOfNode | null {
    return this.#complete.get(node) ?? null;
  }

  /** Handles one chunk. Returns the version that this chunk completes, else null. */
  onChunk(body: BodyOf<"observed.pods">): PodsOfNode | null {
    const { chunk, chunks } = body;
    if (!Number.isInteger(chunk) || !Number.isInteger(chunks) || chunk < 0 || chunk >= chunks) return null;
    if (chunks > PODS_CHUNKS_MAX) return null;
    const assembly = this.#assemblyOf(body);
    if (assembly.parts[chunk] === undefined) assembly.missing -= 1;
    assembly.parts[chunk] = body.pods;
    if (assembly.missing > 0) return null;
    this.#assemblies.delete(body.node);
    const complete = { version: body.version, pods: assembly.parts.flatMap((part) => part ?? []) };
    this.#complete.set(body.node, complete);
    return complete;
  }

  /** Drops a node's pods. Returns their last complete version, or null. */
  drop(node: string): PodsOfNode | null {
    const known = this.of(node);
    this.#complete.delete(node);
    this.#assemblies.delete(node);
    return known;
  }

  #assemblyOf(body: BodyOf<"observed.pods">): Assembly {
    const begun = this.#assemblies.get(body.node);
    if (begun !== undefined && begun.version === body.version && begun.parts.length === body.chunks) return begun;
    const parts = Array.from<readonly ObservedPod[] | undefined>({ length: body.chunks });
    const assembly = { version: body.version, parts, missing: body.chunks };
    this.#assemblies.set(body.node, assembly);
    return assembly;
  }
}
