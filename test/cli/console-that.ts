/** A console for one test, which answers as the test says and ends with it. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Starts a console; the result is the flag that names it. To be called within a test. */
export async function consoleThat(answers: RequestListener): Promise<string> {
  const server = createServer(answers);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `--server=http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
