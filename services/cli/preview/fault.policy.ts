/** What a preview is about: nodes that go down, or a taint on a node. Chooses the nodes from what the cluster has. */
import { TaintEffect } from "../../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../../protocols/objects.ts";
import { listText } from "../../domain/format.ts";
import { nearest } from "../../domain/suggest.ts";
import { namesZone, zoneKeyOf, zoneTitleOf } from "../../domain/zone-key.ts";
import { ConfigProblem } from "../../platform/config/value.ts";

/** The flags that name a fault. */
export interface FaultFlags {
  readonly zone: string;
  readonly node: readonly string[];
  readonly down: boolean;
  /** `NODE=KEY[=VALUE]:NoExecute` */
  readonly taint: string;
}

/** Nodes whose kubelets fall silent now, or a taint that somebody sets now. */
export type Fault =
  | { readonly kind: "down"; readonly what: string; readonly nodes: ReadonlySet<string> }
  | { readonly kind: "taint"; readonly what: string; readonly node: string; readonly taint: Taint };

/** Zones and nodes named in a problem. */
const NAMED_MAX = 10;

/** Checks what needs no cluster. Throws a ConfigProblem that names the flag, its value and the fix. */
export function checkFaultFlags({ zone, node, down, taint }: FaultFlags): void {
  const kinds = [zone !== "", node.length > 0, taint !== ""].filter(Boolean).length;
  if (kinds !== 1) throw new ConfigProblem("preview: give one of --zone=ZONE --down, --node=NAME --down or --taint=…");
  if (taint === "" && !down)
    throw new ConfigProblem(`${zone === "" ? `--node=${node.join()}` : `--zone=${zone}`}: add --down`);
  if (taint === "") return;
  if (down) throw new ConfigProblem(`--taint=${taint}: --down goes with --zone or --node`);
  const { key, effect } = taintOf(taint);
  if (key === "") throw new ConfigProblem(`--taint=${taint}: write it as NODE=KEY[=VALUE]:${TaintEffect.noExecute}`);
  if (effect !== TaintEffect.noExecute) {
    throw new ConfigProblem(`--taint=${taint}: only ${TaintEffect.noExecute} evicts pods`);
  }
}

/** The fault that checked flags describe. Throws a ConfigProblem for a node or zone that the cluster does not have. */
export function faultOf({ zone, node, taint }: FaultFlags, nodes: readonly ObservedNode[]): Fault {
  if (taint !== "") return taintFault(taint, nodes);
  return zone === "" ? nodeFault(node, nodes) : zoneFault(zone, nodes);
}

function zoneFault(zone: string, nodes: readonly ObservedNode[]): Fault {
  const keys = nodes.map(({ node, labels }) => [node, zoneKeyOf(labels)] as const);
  const titles = new Map(keys.map(([node, key]) => [node, zoneTitleOf(key)]));
  const inZone = keys.filter(([, key]) => namesZone(zone, key)).map(([node, key]) => [node, zoneTitleOf(key)] as const);
  const named = new Set(inZone.map(([, title]) => title));
  if (named.size === 1)
    return { kind: "down", what: `zone ${zone} is down`, nodes: new Set(inZone.map(([node]) => node)) };
  const known = [...(named.size > 1 ? named : new Set(titles.values()))].sort();
  throw new ConfigProblem(`--zone=${zone}: name one of ${listText(known.slice(0, NAMED_MAX))}`);
}

function nodeFault(names: readonly string[], nodes: readonly ObservedNode[]): Fault {
  for (const name of names) known("node", name, name, nodes);
  const verb = names.length === 1 ? "is" : "are";
  return { kind: "down", what: `${listText(names)} ${verb} down`, nodes: new Set(names) };
}

function taintFault(text: string, nodes: readonly ObservedNode[]): Fault {
  const { node, ...taint } = taintOf(text);
  known("taint", text, node, nodes);
  return { kind: "taint", what: `${node} carries ${taint.key}:${taint.effect}`, node, taint };
}

/** The parts of `NODE=KEY[=VALUE]:EFFECT`; empty where the text has another form. */
function taintOf(text: string): Taint & { readonly node: string } {
  const [, node = "", key = "", value, effect = ""] = /^([^=:]+)=([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(text) ?? [];
  return { node, key, effect, ...(value === undefined ? {} : { value }) };
}

function known(flag: string, text: string, name: string, nodes: readonly ObservedNode[]): void {
  if (nodes.some(({ node }) => node === name)) return;
  const meant = nearest(
    name,
    nodes.map(({ node }) => node),
  );
  const fix = meant === null ? "see kubectl get nodes" : `did you mean ${meant}?`;
  throw new ConfigProblem(`--${flag}=${text}: there is no node ${name}; ${fix}`);
}
