/**
 * People who let policies declare nodes out of service, and report which machines are off. Their reports are true, but
 * a machine may be switched on again at any time. Scripts of theirs write records that are empty, or old.
 */
import { PROOF_SEAL_LABEL } from "../../../protocols/names.ts";
import type { Random, Stop } from "../../../protocols/ports.ts";
import { apiMicroTime } from "../../../services/domain/api-time.ts";
import { proofSeal } from "../../../services/platform/kube/proof-seal.ts";
import { type ApiObject, isObject, type JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { oneOf } from "../chance.ts";
import { type CheckedNode, conditionOf } from "../invariants.ts";
import { type Reach, repeatedly } from "../meddler.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { POOLS } from "./pools.ts";

const PROVED_DOWN = "vigil.v1/proved-down";
const EVERY_MS = 5_000;
const SECOND_MS = 1000;

/** Starts them. The returned function ends their work and withdraws what they have said. */
export function proveNodesDown(reach: Reach, random: Random): Stop {
  const pauseMs = (): number => EVERY_MS * (0.5 + random());
  const stopActing = repeatedly(reach.world.clock, pauseMs, () => act(reach, random));
  return () => {
    stopActing();
    for (const { name } of reach.world.kubelets.values()) annotate(reach, name, null);
  };
}

function act(reach: Reach, random: Random): void {
  const { world } = reach;
  const kubelet = world.anyKubelet(random);
  const draw = random();
  if (draw < 0.3) allow(reach, oneOf(random, POOLS), oneOf(random, ["1s", "10s", "30s"]));
  else if (draw < 0.36) annotate(reach, kubelet.name, null);
  else if (draw < 0.42) annotate(reach, kubelet.name, oneOf(random, ["", "yes", '{"proof":"Time"}']));
  else {
    const dead = [...world.kubelets.values()].filter(({ alive, name }) => !alive && silentAt(reach, name) !== null);
    const isOld = draw < 0.6;
    const old = proofText("Manual", world.clock.wallMs() - 600 * SECOND_MS);
    for (const { name } of dead.slice(0, 2)) {
      if (isOld) annotate(reach, name, old);
      else prove(reach, name);
    }
  }
}

/** Says of a silent node that it is off, as `vigil prove-down` does. */
function prove(reach: Reach, name: string): void {
  const { world } = reach;
  const at = Math.max(world.clock.wallMs(), (silentAt(reach, name) ?? 0) + SECOND_MS);
  reach.count("node proved down");
  annotate(reach, name, proofText("Manual", at));
}

function proofText(proof: string, at: number): string {
  return JSON.stringify({ proof, by: "oncall", at: apiMicroTime(at), reason: "power off" });
}

/** Since when the API shows a node as silent; null while it does not. */
function silentAt({ world }: Reach, name: string): number | null {
  const stored = world.api.store.collection("nodes").get("", name);
  const ready = stored === undefined ? undefined : conditionOf(JSON.parse(stored.json) as CheckedNode, "Ready");
  return ready?.status === "Unknown" ? Date.parse(ready.lastTransitionTime ?? "") : null;
}

function annotate({ world }: Reach, name: string, text: string | null): void {
  world.edit("nodes", name, (node: ApiObject) => {
    const { [PROVED_DOWN]: _, ...others } = isObject(node.metadata.annotations) ? node.metadata.annotations : {};
    const { [PROOF_SEAL_LABEL]: __, ...rest } = isObject(node.metadata.labels) ? node.metadata.labels : {};
    const annotations = text === null ? others : { ...others, [PROVED_DOWN]: text };
    const labels = text === null ? rest : { ...rest, [PROOF_SEAL_LABEL]: proofSeal(text) };
    return { ...node, metadata: { ...node.metadata, annotations, labels } };
  });
}

/** Lets a policy declare its nodes out of service, where there is one. */
function allow({ world }: Reach, name: string, after: string): void {
  const [resource] = world.api.catalog.customAt(POLICIES_STORAGE);
  if (resource === undefined || world.api.store.collection(POLICIES_STORAGE).get("", name) === undefined) return;
  world.asWorld(() =>
    world.api.registry.update({ resource, namespace: "", name }, "main", (object) => {
      const spec = (object.spec ?? {}) as JsonObject;
      return { ...object, spec: { ...spec, outOfService: { after, proof: ["Manual"] } } };
    }),
  );
}
