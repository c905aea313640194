/** Where `vigil freeze` and `vigil thaw` write. */
import { expect, test } from "vitest";
import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import { Urgency } from "../../../protocols/ports.ts";
import { changeRequests } from "../../../services/cli/freeze/frozen-object.ts";
import { VirtualWorld } from "../../support/virtual-world.ts";

test("requests that cannot be read are not replaced, because that would thaw nodes", async () => {
  const world = new VirtualWorld();
  const { namespace, name } = FREEZE_CONFIG_MAP;
  const data = { pauseRequests: "[{" };
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
  world.write({ verb: "create", ref: FREEZE_CONFIG_MAP, body, urgency: Urgency.status });
  const changed = changeRequests(world.kube, null, () => []);
  world.advance(0);
  await expect(changed).rejects.toThrow(
    "ConfigMap kube-system/vigil-freeze: data.pauseRequests: is no JSON list; correct it with kubectl edit, or write []",
  );
  expect(world.read(FREEZE_CONFIG_MAP)).toMatchObject({ data });
});
