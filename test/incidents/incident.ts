/**
 * An incident that people had with their nodes, as data: the nodes and pods, what happens and when, and what a
 * controller has to do. Each file beside this one is one incident; `play` plays it on real servers.
 */

/** A number from a range, which the seed of a run picks; see `between`. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** A number, or a range that the seed picks one from. */
export type Amount = number | Range;

/** A range of whole numbers for a size, or of seconds for a time. */
export function between(from: number, to: number): Range {
  return { from, to };
}

/** Nodes with one fate in an incident. */
export interface NodeGroup {
  readonly nodes: Amount;
  /** `a` when absent. */
  readonly zone?: string;
  /** The pod of each node; absent for nodes without one. */
  readonly pod?: PodShape;
  /** Whether their kubelets reach the API server through a load balancer. */
  readonly behindLoadBalancer?: true;
}

/** A pod and what it tolerates. */
export interface PodShape {
  /** For how many seconds it tolerates that its node is lost: the taints not-ready and unreachable. */
  readonly toleratesLoss?: Amount;
  /** For how many seconds it tolerates each other taint, by key. */
  readonly tolerates?: Readonly<Record<string, Amount>>;
  /** Whether it is the mirror of a static pod: its kubelet creates it again within a second of its deletion. */
  readonly isMirror?: true;
}

/** The parts of a control plane that can be away. */
export type Part = "API server" | "etcd" | "controller";

/** Names of groups. */
export type Groups = readonly string[];

/** Everything that can happen in an incident. */
export interface Actions {
  /** These nodes send no heartbeat any more, neither lease nor status. */
  readonly silence: Groups;
  /** Their kubelets renew their leases, and go on to. */
  readonly renew: Groups;
  /** Their kubelets post their status once. */
  readonly post: Groups;
  /** Both: they are back. */
  readonly recover: Groups;
  /** Their kubelets report this Ready from now on. */
  readonly report: { readonly ready: "True" | "False"; readonly of: Groups };
  /** Two machines post under the name of each of these nodes: Ready is False and True in turn. */
  readonly twoMachinesPost: { readonly of: Groups; readonly times: Amount; readonly everySeconds: number };
  /** The clocks of these nodes go forward, or with a negative number back. */
  readonly moveClock: { readonly of: Groups; readonly seconds: number };
  /** Waits until these nodes are tainted unreachable:NoExecute by the controller. */
  readonly untilTainted: Groups;
  /** Waits until these nodes carry no taint. */
  readonly untilWell: Groups;
  /** Waits until the pods of these nodes are deleted. */
  readonly untilDeleted: Groups;
  /** Users taint these nodes NoExecute with a key. */
  readonly taint: { readonly key: string; readonly of: Groups };
  /** Users take every taint from these nodes. */
  readonly untaint: Groups;
  /** Users or a cloud controller set the zone of these nodes. */
  readonly moveToZone: { readonly zone: string; readonly of: Groups };
  /** Users change for how many seconds the pods of these nodes tolerate a taint. */
  readonly tolerate: { readonly key: string; readonly seconds: number; readonly of: Groups };
  /** The Nodes are deleted and registered again at once, by the same kubelets. */
  readonly registerAgain: Groups;
  /** The Nodes are deleted; other machines register under their names, and old kubelets go on renewing the leases. */
  readonly replaceMachines: Groups;
  /** The other machines die. The old kubelets still renew the leases. */
  readonly silenceReplacements: Groups;
  /** A webhook refuses every write of these objects from now on. */
  readonly refuse: Refusable;
  /** It is gone. */
  readonly allow: Refusable;
  /** These end at once. */
  readonly kill: readonly Part[];
  /** These start, in this order, and serve. */
  readonly start: readonly Part[];
  /** These stand still with open connections, as a machine that is suspended. */
  readonly freeze: readonly ("API server" | "controller")[];
  /** They go on. */
  readonly thaw: readonly ("API server" | "controller")[];
  /** Nothing passes between the controller and the API server, and no connection breaks; or all breaks, or it heals. */
  readonly controllerPath: PathState;
  /** The same between the load balancer's kubelets and the API server. */
  readonly loadBalancer: PathState;
  /** What is stored counts as written so many seconds earlier, as if the servers had been away for as long. */
  readonly age: Amount;
  /** A backup of etcd is made. */
  readonly backUp: "etcd";
  /** etcd gets that backup, as if made so many seconds ago; the API server is away and has to be started. */
  readonly restore: Amount;
  /** The leases of these nodes are renewed until the cluster has many more versions. */
  readonly writeOn: Groups;
  /** Nothing happens but time. */
  readonly observe: "all";
}

/** Objects whose writes a webhook can refuse. */
export type Refusable = "leases" | "deletions of pods";

/** What happens to what is sent. */
export type PathState = "stalls" | "breaks" | "heals";

type OneOf<T> = { [K in keyof T]: Pick<T, K> }[keyof T];

/** Some time after the step before, something happens; several things of one step happen in the same instant. */
export type Step = { readonly after?: Amount } & OneOf<Actions>;

/** What has to become of a group's pods, and what may be found about its nodes. */
export interface Right {
  /** Pods stay, or go when their countdown ends. An outage of the API server pauses a countdown by silence. */
  readonly pods?: "stay" | "go";
  /** Each node is found unknown never, because its machine lives, or once, because it died; or both would be right. */
  readonly unknown: "never" | "once" | "either";
}

/** An incident. */
export interface Incident {
  readonly name: string;
  readonly title: string;
  /** Public reports, such as `kubernetes#24200`, with the organisation where it is not kubernetes. */
  readonly reports: readonly string[];
  /** What people saw. */
  readonly seen: string;
  /** Whether it is of a cluster as large as real ones: with upstream's own periods, one controller after the other. */
  readonly isLarge?: true;
  /** Flags of both controllers beside the usual ones. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly groups: Readonly<Record<string, NodeGroup>>;
  readonly timeline: readonly Step[];
  readonly right: Readonly<Record<string, Right>>;
  readonly because: string;
  /** What upstream's rules say instead, which Vigil keeps; then the right answer is only recorded. */
  readonly unsolved?: string;
  /** What Vigil's log has to say about it. */
  readonly says?: string;
}
