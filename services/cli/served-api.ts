/** An embedded API put on a socket without access control, with the kubeconfig that kubectl needs for it. */
import { join } from "node:path";
import { listenProblem, parseAddress } from "../platform/config/address.ts";
import type { Setting, ValuesOf } from "../platform/config/value.ts";
import type { ApiServer } from "../sandbox/apiserver/apiserver.ts";
import { type HttpFront, listen } from "../sandbox/apiserver/http/http-front.ts";
import { Failure, type Host, writeNamedFile } from "./verb.ts";
import { yamlText } from "./yaml.ts";

/** Where an embedded API listens and for whom. */
export const SERVED_API_SETTINGS = {
  listen: {
    unit: "text",
    flag: "listen",
    standard: "127.0.0.1:0",
    meaning: "Address of the embedded API, open to whoever reaches it; port 0 takes a free one.",
    example: "127.0.0.1:8001",
  } as Setting<string>,
  writeKubeconfig: {
    unit: "text",
    flag: "write-kubeconfig",
    standard: "",
    meaning: "Kubeconfig file to write for kubectl; without it one in a new temporary folder of your own.",
    example: "play.kubeconfig",
  } as Setting<string>,
} as const;

/** An embedded API that is served. */
export interface ServedApi {
  readonly front: HttpFront;
  /** The file that was written for kubectl. */
  readonly kubeconfig: string;
}

/**
 * Serves an embedded API and writes a kubeconfig for it. Without a path it lies where nobody else could have put a file
 * or a link before. Throws a Failure when either cannot be done.
 */
export async function serveApi(
  apiserver: ApiServer,
  { listen: address, writeKubeconfig }: ValuesOf<typeof SERVED_API_SETTINGS>,
  host: Host,
): Promise<ServedApi> {
  const { host: bound, port } = parseAddress(address, "listen");
  const front = await listen(apiserver, { host: bound === "" ? "0.0.0.0" : bound, port }).catch((error: Error) => {
    throw new Failure(`--listen=${address}: ${listenProblem(error)}`);
  });
  const kubeconfig = writeKubeconfig === "" ? join(host.makeFolder(), "vigil.kubeconfig") : writeKubeconfig;
  writeNamedFile(host, "write-kubeconfig", kubeconfig, kubeconfigOf("vigil", front.url));
  return { front, kubeconfig };
}

/** A kubeconfig with one context, `name`. It holds no token, because kubectl sends none over plain HTTP. */
export function kubeconfigOf(name: string, server: string): string {
  return yamlText({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server } }],
    contexts: [{ name, context: { cluster: name, user: "" } }],
    "current-context": name,
  });
}
