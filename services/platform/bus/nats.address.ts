/** Parses NATS server addresses as users write them. */

/** Servers to connect to, with the credentials and the TLS requirement in their addresses. */
export interface NatsAddress {
  /** `host:port`, without credentials. */
  readonly servers: readonly string[];
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  readonly tls: boolean;
}

const SCHEMES = ["nats:", "tls:"];
const PORT_STANDARD = "4222";

/**
 * Parses addresses such as `nats://host`, `tls://host:4222`, `host:4222`, `nats://user:password@host` and
 * `nats://token@host`. The first credentials found apply. Throws an Error of one line for a malformed address.
 */
export function readNatsAddresses(addresses: readonly string[]): NatsAddress {
  const urls = addresses.map(readOne);
  const authorized = urls.find(({ username }) => username !== "");
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port === "" ? PORT_STANDARD : port}`),
    tls: urls.some(({ protocol }) => protocol === "tls:"),
    ...(authorized === undefined ? {} : credentialsOf(authorized)),
  };
}

/** Replaces the credentials in an address that is shown. */
const HIDDEN = "***";

/** The address without its user, password or token, for display. */
export function shownNatsAddress(address: string): string {
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+.-]*:\/\/)?(.*)$/is.exec(address) ?? [];
  return rest.includes("@") ? `${scheme}${HIDDEN}@${rest.slice(rest.lastIndexOf("@") + 1)}` : address;
}

function readOne(address: string): URL {
  const text = address.includes("://") ? address : `nats://${address}`;
  const url = URL.parse(text);
  if (url === null || !SCHEMES.includes(url.protocol) || url.hostname === "" || !/^\/?$/.test(url.pathname)) {
    const shown = JSON.stringify(shownNatsAddress(address));
    throw new Error(`NATS server ${shown}: write it as nats://host:4222 or tls://host:4222`);
  }
  if (url.username === HIDDEN && url.password === "") {
    const fix = `put its credentials in place of ${HIDDEN}, which --print-config shows instead of them`;
    throw new Error(`NATS server ${JSON.stringify(address)}: ${fix}`);
  }
  return url;
}

function credentialsOf(url: URL): { user: string; password: string } | { token: string } {
  const user = plainOf(url, url.username);
  return url.password === "" ? { token: user } : { user, password: plainOf(url, url.password) };
}

function plainOf({ protocol, host }: URL, part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    const shown = JSON.stringify(`${protocol}//${HIDDEN}@${host}`);
    throw new Error(`NATS server ${shown}: write % in its user, password or token as %25`, { cause });
  }
}
