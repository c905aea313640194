/** Parses addresses to listen on, such as `:8080`, `127.0.0.1:0` or `[::1]:8080`. */
import { ConfigProblem } from "./value.ts";

/** A parsed address; an empty host means every address of the machine. */
export interface ListenAddress {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

const ADDRESS = /^(?:\[(?<six>[0-9a-f:.]+)\]|(?<host>[^:[\]]*)):(?<port>\d{1,5})$/i;
const PORT_MAX = 65_535;

/** Why listening failed, in words for the user. */
export function listenProblem({ code, message }: NodeJS.ErrnoException): string {
  return code === "EADDRINUSE" ? "the port is taken, choose another" : message;
}

/** Parses an address; `flag` names it in problems. Throws a ConfigProblem. */
export function parseAddress(text: string, flag: string): ListenAddress {
  const { six, host, port } = ADDRESS.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > PORT_MAX) {
    throw new ConfigProblem(`--${flag}=${text}: not an address; write it as :8080 or 127.0.0.1:8080`);
  }
  return { host: six ?? host ?? "", port: Number(port) };
}
