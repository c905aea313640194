/**
 * A hostile client: `node test/support/query-flood.ts PORT SUBJECT` sends 40,000 queries a second over NATS and reads
 * no answer.
 */
import { connect } from "node:net";

const EACH_MS = 10;
const [port = "", subject = ""] = process.argv.slice(2);
const QUERIES = `PUB ${subject} _INBOX.flood 0\r\n\r\n`.repeat(40 * EACH_MS);

const socket = connect(Number(port), "127.0.0.1", () => {
  socket.write('CONNECT {"verbose":false}\r\n');
  setInterval(() => socket.write(QUERIES), EACH_MS);
});
socket.on("data", (data) => {
  if (data.includes("PING")) socket.write("PONG\r\n");
});
