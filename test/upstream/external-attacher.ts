/** Plays the external attacher of a CSI driver: it attaches and detaches at once. It asserts nothing. */
import type { RawClient } from "../contract/kube.provided.ts";

const ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments";

interface VolumeAttachment {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName: string; readonly source: { readonly persistentVolumeName?: string } };
  readonly status?: { readonly attached?: boolean };
}

/** One attacher of a cluster. It acts when `review` is called. */
export class ExternalAttacher {
  readonly #client: RawClient;
  readonly #finalizer: string;
  readonly #story = new Map<string, string[]>();

  constructor(client: RawClient, driver: string) {
    this.#client = client;
    this.#finalizer = `external-attacher/${driver}`;
  }

  /** What has happened to a PersistentVolume, in order: `attached to …`, `detached from …`. */
  storyOf(volume: string): readonly string[] {
    return this.#story.get(volume) ?? [];
  }

  /** Attaches what is new, and releases what a controller has deleted. */
  async review(): Promise<void> {
    const { items = [] } = (await this.#client.get(ATTACHMENTS)).object as { items?: readonly VolumeAttachment[] };
    for (const { metadata, spec, status } of items) {
      const path = `${ATTACHMENTS}/${metadata.name}`;
      if (metadata.deletionTimestamp !== undefined) {
        await this.#client.patch(path, "merge-patch", { metadata: { finalizers: null } });
        this.#note(spec, `detached from ${spec.nodeName}`);
      } else if (status?.attached !== true) {
        await this.#client.patch(path, "merge-patch", { metadata: { finalizers: [this.#finalizer] } });
        await this.#client.patch(`${path}/status`, "merge-patch", { status: { attached: true } });
        this.#note(spec, `attached to ${spec.nodeName}`);
      }
    }
  }

  #note({ source: { persistentVolumeName = "" } }: VolumeAttachment["spec"], event: string): void {
    this.#story.set(persistentVolumeName, [...this.storyOf(persistentVolumeName), event]);
  }
}
