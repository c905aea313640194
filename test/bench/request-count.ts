/** How many requests a controller has sent to the API server, as its own metrics count them. */
import { once } from "node:events";
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { text } from "node:stream/consumers";

/** The counter of client-go, in every controller of Kubernetes: one request each, whatever its verb. */
export const CLIENT_GO_REQUESTS = "rest_client_requests_total";
/** Vigil's counter of writes and live reads. */
export const VIGIL_REQUESTS = "vigil_kube_requests_total";

/** The sum of a counter over its labels, from a page of Prometheus metrics; 0 before the first count. */
export async function countOf(metricsUrl: string, counter: string): Promise<number> {
  const get = metricsUrl.startsWith("https:") ? getHttps : getHttp;
  // The certificate of a kube-controller-manager is its own.
  const [response] = (await once(get(metricsUrl, { rejectUnauthorized: false }), "response")) as [IncomingMessage];
  const page = await text(response);
  if (response.statusCode !== 200) throw new Error(`GET ${metricsUrl}: ${response.statusCode} ${page}`);
  const values = page.split("\n").filter((line) => line.startsWith(`${counter}{`));
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
