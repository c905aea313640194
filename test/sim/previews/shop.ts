/** An application on some nodes, and the disruption budget that protects its pods. */
import type { Random } from "../../../protocols/ports.ts";
import { storedAs } from "../../../services/sandbox/apiserver/resources.ts";
import { Cluster } from "../../../services/sandbox/controllers/cluster.ts";
import { startDisruptionBudgets } from "../../../services/sandbox/controllers/disruption-budgets.ts";
import { between } from "../chance.ts";
import type { World } from "../world.ts";

const LABELS = { app: "shop" } as const;
/** In how many runs there is a budget, and on which share of the nodes a pod of the application runs. */
const BUDGET_SHARE = 0.8;
const NODES_SHARE = 0.6;

/** Creates the pods and the budget, and starts the controller that counts what it allows. */
export function openShop(world: World, random: Random): void {
  startDisruptionBudgets(new Cluster(world.api, world.clock));
  const names = [...world.kubelets.keys()].filter(() => random() < NODES_SHARE);
  for (const name of names) world.addPod(name, `shop-${name}`, { metadata: { labels: LABELS } });
  if (random() >= BUDGET_SHARE) return;
  const spec = { minAvailable: between(random, 1, names.length), selector: { matchLabels: LABELS } };
  const metadata = { name: "shop", namespace: "default" };
  const budget = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata, spec };
  world.asWorld(() => world.api.registry.create(storedAs("poddisruptionbudgets"), "default", budget));
}
