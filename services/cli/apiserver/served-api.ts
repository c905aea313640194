/** Serves an embedded API on a socket without access control, and writes a kubeconfig for it. */
import { join } from "node:path";
import { listenProblem, parseAddress } from "../../platform/config/address.ts";
import { textSetting } from "../../platform/config/setting-builders.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import type { ApiServer } from "../../sandbox/apiserver/apiserver.ts";
import type { HttpFront } from "../../sandbox/apiserver/http/http-front.ts";
import { yamlText } from "../output/yaml.ts";
import { Failure, type Host, writeNamedFile } from "../verb.ts";

/** Where an embedded API listens, and where its kubeconfig is written. */
export const SERVED_API_SETTINGS = {
  listen: textSetting(
    "listen",
    "127.0.0.1:8001",
    "Address of the embedded API, which accepts every client; port 0 takes a free one.",
    "127.0.0.1:0",
  ),
  writeKubeconfig: textSetting(
    "write-kubeconfig",
    "play.kubeconfig",
    "Kubeconfig file to write for kubectl; without it one in a new private temporary folder.",
  ),
} as const;

/** A served API and the path of its kubeconfig. */
export interface ServedApi {
  readonly front: HttpFront;
  readonly kubeconfig: string;
}

/**
 * Serves an embedded API and writes its kubeconfig, by default to a new private folder, where no other user can have
 * put a link. Throws a Failure.
 */
export async function serveApi(
  apiserver: ApiServer,
  { listen: address, writeKubeconfig }: ValuesOf<typeof SERVED_API_SETTINGS>,
  host: Host,
): Promise<ServedApi> {
  const { host: bound, port } = parseAddress(address, "listen");
  // Loaded when it is wanted: the flags above are loaded by every verb.
  const { listen } = await import("../../sandbox/apiserver/http/http-front.ts");
  const front = await listen(apiserver, { host: bound === "" ? "0.0.0.0" : bound, port }).catch((error: Error) => {
    throw new Failure(`--listen=${address}: ${listenProblem(error)}`);
  });
  const kubeconfig = writeKubeconfig === "" ? join(host.makeFolder(), "vigil.kubeconfig") : writeKubeconfig;
  writeNamedFile(host, "write-kubeconfig", kubeconfig, kubeconfigOf("vigil", front.url));
  return { front, kubeconfig };
}

/** A kubeconfig with one context. It has no token, because kubectl sends none over plain HTTP. */
export function kubeconfigOf(name: string, server: string): string {
  return yamlText({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server } }],
    contexts: [{ name, context: { cluster: name, user: "" } }],
    "current-context": name,
  });
}
