/** Writes HTTP/1.1 requests as text. Pure. */
import type { HttpRequest } from "../../../../protocols/ports.ts";
import { USER_AGENT } from "./https.ts";

/** What no header can carry: another line, or a character of more than a byte. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

/** The headers that all requests to a server have. Throws an Error for one that no header can carry. */
export function headOf(server: URL, headers: Readonly<Record<string, string | readonly string[]>>): string {
  const lines = Object.entries({ host: server.host, "user-agent": USER_AGENT, ...headers }).flatMap(([name, value]) =>
    [value].flat().map((one) => `${name}: ${one}`),
  );
  if (lines.some((line) => UNSENDABLE.test(line))) throw new Error("a credential that no header can carry");
  return `${lines.join("\r\n")}\r\n`;
}

/** One request; `prefix` is the path before that of the API, `head` what `headOf` gave. */
export function requestText({ method, path, headers, body }: HttpRequest, prefix: string, head: string): string {
  let text = `${method} ${prefix}${path} HTTP/1.1\r\n${head}`;
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`;
  return body === null ? `${text}\r\n` : `${text}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
