/** The first request of a process. Its refusals are shown by the command line's tests. */
import { expect, test } from "vitest";
import type { Wire } from "../../../protocols/ports.ts";
import { checkServer } from "../../../services/platform/kube/auth/access-check.ts";
import { Embedded, node } from "../../sandbox/apiserver/embedded.ts";

test("the first read of an observer brings one node, however many there are", async () => {
  const embedded = new Embedded();
  for (const name of ["a", "b", "c"]) embedded.ask("POST", "/api/v1/nodes", node(name));
  let body = "";
  const wire: Wire = {
    ...embedded.api.wire,
    send: (request, sink) =>
      embedded.api.wire.send(request, {
        ...sink,
        data: (chunk) => {
          body += Buffer.from(chunk).toString();
          sink.data(chunk);
        },
      }),
  };
  const problem = checkServer({ wire, clock: embedded.clock }, "https://example.test");
  embedded.clock.advance(0);
  expect(await problem).toBeNull();
  expect(JSON.parse(body).items).toHaveLength(1);
});
