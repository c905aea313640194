/**
 * A client that means harm: `node test/support/flood.ts PORT CONNECTIONS` sends requests to a console as fast as it can,
 * many before it has an answer, and connects again at once whenever it is cut off.
 */
import { connect } from "node:net";

const REQUESTS = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50);
const [port = "", connections = ""] = process.argv.slice(2);

function flood(): void {
  const socket = connect(Number(port), "127.0.0.1");
  const send = (): void => {
    while (socket.write(REQUESTS));
  };
  socket.on("connect", send).on("drain", send);
  socket.on("error", () => {}).on("close", () => setImmediate(flood));
  socket.resume();
}

for (let index = 0; index < Number(connections); index++) flood();
