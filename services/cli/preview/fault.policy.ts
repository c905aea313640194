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

/** What happens to some nodes now. */
export interface Fault {
  /** For people, to follow "if". */
  readonly what: string;
  readonly nodes: ReadonlySet<string>;
  /** The taint that they get; null where their kubelets fall silent. */
  readonly taint: Taint | null;
}

/** Zones named in a problem. */
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
export function faultOf({ zone, node: names, taint: text }: FaultFlags, nodes: readonly ObservedNode[]): Fault {
  if (zone !== "") return { what: `zone ${zone} is down`, nodes: nodesOfZone(zone, nodes), taint: null };
  if (text === "") {
    for (const name of names) checkNode(name, `--node=${name}`, nodes);
    return { what: `${listText(names)} ${names.length === 1 ? "is" : "are"} down`, nodes: new Set(names), taint: null };
  }
  const { node, ...taint } = taintOf(text);
  checkNode(node, `--taint=${text}`, nodes);
  return { what: `${node} carries ${taint.key}:${taint.effect}`, nodes: new Set([node]), taint };
}

function nodesOfZone(zone: string, nodes: readonly ObservedNode[]): ReadonlySet<string> {
  const titleOf = ({ labels }: ObservedNode): string => zoneTitleOf(zoneKeyOf(labels));
  const inZone = nodes.filter(({ labels }) => namesZone(zone, zoneKeyOf(labels)));
  const titles = new Set(inZone.map(titleOf));
  if (titles.size === 1) return new Set(inZone.map(({ node }) => node));
  const known = [...(titles.size > 1 ? titles : new Set(nodes.map(titleOf)))].sort();
  throw new ConfigProblem(`--zone=${zone}: name one of ${listText(known.slice(0, NAMED_MAX))}`);
}

/** The parts of `NODE=KEY[=VALUE]:EFFECT`; empty where the text has another form. */
function taintOf(text: string): Taint & { readonly node: string } {
  const [, node = "", key = "", value, effect = ""] = /^([^=:]+)=([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(text) ?? [];
  return { node, key, effect, ...(value === undefined ? {} : { value }) };
}

function checkNode(name: string, flag: string, nodes: readonly ObservedNode[]): void {
  const names = nodes.map(({ node }) => node);
  if (names.includes(name)) return;
  const meant = nearest(name, names);
  const fix = meant === null ? "see kubectl get nodes" : `did you mean ${meant}?`;
  throw new ConfigProblem(`${flag}: there is no node ${name}; ${fix}`);
}
