/** The name under which the API server knows the user of a kubeconfig. */
import type { Clock, Wire } from "../../../protocols/ports.ts";
import { call } from "../../platform/kube/transport/call.ts";
import { parsed, recordOf, textOf } from "../../structures/json.ts";

const API_VERSION = "authentication.k8s.io/v1";
const PATH = `/apis/${API_VERSION}/selfsubjectreviews`;
const TIMEOUT_MS = 5_000;

/** The name of the user; null where the API server does not say, as before Kubernetes 1.28. */
export function userName(io: { readonly wire: Wire; readonly clock: Clock }): Promise<string | null> {
  const headers = { accept: "application/json", "content-type": "application/json" };
  const body = JSON.stringify({ apiVersion: API_VERSION, kind: "SelfSubjectReview" });
  return new Promise((resolve) => {
    call(io, { method: "POST", path: PATH, headers, body }, TIMEOUT_MS, (answer) => {
      const isReview = answer.kind === "answer" && (answer.status === 200 || answer.status === 201);
      const { status } = isReview ? recordOf(parsed(answer.text)) : { status: null };
      resolve(textOf(recordOf(recordOf(status).userInfo).username));
    });
  });
}
