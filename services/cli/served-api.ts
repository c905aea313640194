/** An embedded API put on a socket without access control, with the kubeconfig that kubectl needs for it. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiServer } from "../apiserver/apiserver.ts";
import { type HttpFront, listen } from "../apiserver/http-front.ts";
import { listenProblem, parseAddress } from "../runtime/config.address.ts";
import type { Setting, ValuesOf } from "../runtime/config.value.ts";
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
    standard: join(tmpdir(), "vigil.kubeconfig"),
    meaning: "Kubeconfig file to write for kubectl.",
    example: "play.kubeconfig",
  } as Setting<string>,
} as const;

/** Serves an embedded API and writes a kubeconfig for it. Throws a Failure when either cannot be done. */
export async function serveApi(
  apiserver: ApiServer,
  { listen: address, writeKubeconfig }: ValuesOf<typeof SERVED_API_SETTINGS>,
  host: Host,
): Promise<HttpFront> {
  const { host: bound, port } = parseAddress(address, "listen");
  const front = await listen(apiserver, { host: bound === "" ? "0.0.0.0" : bound, port }).catch((error: Error) => {
    throw new Failure(`--listen=${address}: ${listenProblem(error)}`);
  });
  writeNamedFile(host, "write-kubeconfig", writeKubeconfig, kubeconfigOf("vigil", front.url));
  return front;
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
