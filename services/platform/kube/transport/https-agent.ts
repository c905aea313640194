/** The keep-alive agent of a wire: how connections are made and kept. */
import type http from "node:http";
import https from "node:https";
import { nodeHttp } from "../../process/node-http.ts";
import { RESTING_SOCKET } from "./bursts.ts";

/** TLS credentials of both sides; PEM texts. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  /** False trusts any server. */
  readonly rejectUnauthorized?: boolean;
}

/** First TCP keep-alive probe after this; Linux then probes each second and gives up after ten. */
export const KEEP_ALIVE_MS = 5_000;
/** All connections of an agent lead to one server with the same credentials, so any may serve any request. */
const CONNECTION_NAME = "server";

/** Keeps one agent, and replaces it when the TLS material changes. */
export class AgentKeeper {
  readonly #secure: boolean;
  readonly #proxy: string | null;
  #agent: http.Agent | null = null;
  #tls: TlsMaterial | null = null;

  constructor(secure: boolean, proxy: string | null) {
    this.#secure = secure;
    this.#proxy = proxy;
  }

  agentFor(tls: TlsMaterial): http.Agent {
    const known = tls === this.#tls || JSON.stringify(tls) === JSON.stringify(this.#tls);
    this.#tls = tls;
    if (this.#agent !== null && known) return this.#agent;
    const proxyEnv = this.#proxy === null ? {} : { HTTP_PROXY: this.#proxy, HTTPS_PROXY: this.#proxy };
    const kept = { keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS, scheduling: "lifo" as const };
    const options = { ...kept, ...RESTING_SOCKET, proxyEnv };
    // Requests in flight stay on the old agent; its idle connections time out.
    const agent = this.#secure ? new https.Agent({ ...options, ...tls }) : new nodeHttp.Agent(options);
    // Node's own name holds all TLS material and is built several times for each request.
    agent.getName = () => CONNECTION_NAME;
    this.#agent = agent;
    return agent;
  }

  close(): void {
    this.#agent?.destroy();
    this.#agent = null;
  }
}
