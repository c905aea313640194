/** The names that a label selector selects. The API server knows them; a console keeps only labels of policies. */
import type { KUBE_SETTINGS } from "../../platform/config/settings.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { collectionPath } from "../../platform/kube/transport/paths.ts";
import { listOnce } from "../../platform/kube/watch/list-once.ts";
import { recordOf, textOf } from "../../structures/json.ts";
import { connectApi } from "../connect/api-connection.ts";
import { Failure, type Host } from "../verb.ts";

/** A label selector on objects of the API server. */
export interface LabelledNames {
  /** The names of the selected objects as they are now, `NAMESPACE/NAME` in a namespace. Rejects with a Failure. */
  readonly names: () => Promise<ReadonlySet<string>>;
  readonly close: () => void;
}

/** Connects to the API server of the kubeconfig. Rejects with a Failure. */
export async function openLabels(
  kind: "Node" | "Pod" | "NodePolicy",
  { selector: labelSelector, ...settings }: Readonly<ValuesOf<typeof KUBE_SETTINGS>> & { readonly selector: string },
  host: Host,
): Promise<LabelledNames> {
  const { wire, clock, close } = await connectApi({ ...settings, services: [] }, host);
  const path = collectionPath(kind, "");
  return {
    names: async () => {
      const names = new Set<string>();
      const problem = await listOnce({ wire, clock }, { path, shape: null, labelSelector }, (raw) => {
        const { name, namespace } = recordOf(recordOf(raw).metadata);
        names.add([textOf(namespace), textOf(name)].filter((part) => part !== null).join("/"));
      });
      if (problem !== null) throw new Failure(`--selector=${labelSelector}: ${problem}`);
      return names;
    },
    close,
  };
}
