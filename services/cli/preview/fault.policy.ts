/** What a preview is about: nodes that go down, or a taint on a node. Chooses the nodes from what the cluster has. */
import { TaintEffect } from "../../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../../protocols/objects.ts";
import { listText } from "../../domain/format.ts";
import { nearest } from "../../domain/suggest.ts";
import { taintName } from "../../domain/toleration.ts";
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

/** Finds the fault in a cluster. Throws a ConfigProblem for a node or zone that it does not have. */
type FaultIn = (nodes: readonly ObservedNode[]) => Fault;

/** The fault that flags describe. Throws a ConfigProblem that names the flag, its value and the fix. */
export function faultOf({ zone, node: names, down, taint }: FaultFlags): FaultIn {
  if ([zone, names.join(), taint].filter((name) => name !== "").length !== 1)
    throw new ConfigProblem("preview: give one of --zone=ZONE --down, --node=NAME --down or --taint=…");
  if (taint !== "") return taintFault(taint, down);
  if (!down) throw new ConfigProblem(`${zone === "" ? `--node=${names.join()}` : `--zone=${zone}`}: add --down`);
  if (zone !== "") return (nodes) => ({ what: `zone ${zone} is down`, nodes: nodesOfZone(zone, nodes), taint: null });
  const what = `${listText(names)} ${names.length === 1 ? "is" : "are"} down`;
  return (nodes) => ({ what, nodes: new Set(names.map((name) => known(name, `--node=${name}`, nodes))), taint: null });
}

function taintFault(text: string, down: boolean): FaultIn {
  const flag = `--taint=${text}`;
  if (down) throw new ConfigProblem(`${flag}: --down goes with --zone or --node`);
  const [, node = "", key = "", value, effect = ""] = /^([^=:]+)=([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(text) ?? [];
  if (key === "") throw new ConfigProblem(`${flag}: write it as NODE=KEY[=VALUE]:${TaintEffect.noExecute}`);
  if (effect !== TaintEffect.noExecute) throw new ConfigProblem(`${flag}: only ${TaintEffect.noExecute} evicts pods`);
  const taint = { key, effect, ...(value === undefined ? {} : { value }) };
  return (nodes) => ({
    what: `${node} carries ${taintName(taint)}`,
    nodes: new Set([known(node, flag, nodes)]),
    taint,
  });
}

function nodesOfZone(zone: string, nodes: readonly ObservedNode[]): ReadonlySet<string> {
  const titleOf = ({ labels }: ObservedNode): string => zoneTitleOf(zoneKeyOf(labels));
  const inZone = nodes.filter(({ labels }) => namesZone(zone, zoneKeyOf(labels)));
  const titles = new Set(inZone.map(titleOf));
  if (titles.size === 1) return new Set(inZone.map(({ node }) => node));
  const known = [...(titles.size > 1 ? titles : new Set(nodes.map(titleOf)))].sort();
  throw new ConfigProblem(`--zone=${zone}: name one of ${listText(known.slice(0, NAMED_MAX))}`);
}

function known(name: string, flag: string, nodes: readonly ObservedNode[]): string {
  const names = nodes.map(({ node }) => node);
  if (names.includes(name)) return name;
  const meant = nearest(name, names);
  const fix = meant === null ? "see kubectl get nodes" : `did you mean ${meant}?`;
  throw new ConfigProblem(`${flag}: there is no node ${name}; ${fix}`);
}
