/**
 * The rules of the soak: what the cluster may never show during faults, and what it must show after them. Pure: the
 * recorder supplies its observations, and the world supplies which kubelets are alive.
 */

/** A stretch of time in which a kubelet was switched off; epoch milliseconds, `toMs` is infinite while it lasts. */
export interface Silence {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A taint as the recorder observed it on a node. */
export interface SeenTaint {
  readonly node: string;
  readonly zone: string;
  readonly key: string;
  /** The stamp of the taint, in whole seconds. */
  readonly addedMs: number;
}

/** The settings of Vigil and the kubelets, and how far stamps and crossing requests may be off. */
export interface SoakSettings {
  readonly graceMs: number;
  readonly tolerationMs: number;
  readonly taintsPerSecond: number;
  /** How long after a kubelet's return an earlier write may still arrive. */
  readonly crossingMs: number;
}

/** API stamps are cut to whole seconds. */
const STAMP_MS = 1000;

/** Whether a kubelet was off at an instant, and for how long; null while it was on. */
export function silenceAt(silences: readonly Silence[], atMs: number, crossingMs: number): Silence | null {
  return silences.find(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs + crossingMs) ?? null;
}

/**
 * Why a verdict `Ready=Unknown` stamped at `atMs` is wrong; null when it is right. The grace counts from the last
 * renewal that the API showed: a kubelet on a busy machine may have renewed late.
 */
export function verdictProblem(
  { node, atMs, renewedMs }: { readonly node: string; readonly atMs: number; readonly renewedMs: number },
  silences: readonly Silence[],
  { graceMs, crossingMs }: SoakSettings,
): string | null {
  const silence = silenceAt(silences, atMs, crossingMs);
  if (silence === null) return `${node} is live and was made Unknown at ${clockOf(atMs)}`;
  // A renewal after the kubelet's return crosses with the verdict.
  const earlyMs = renewedMs > silence.toMs ? 0 : renewedMs + graceMs - STAMP_MS - atMs;
  return earlyMs > 0 ? `${node} was made Unknown at ${clockOf(atMs)}, ${earlyMs} ms before its grace ended` : null;
}

/** Why the deletion of a pod, requested at `atMs`, is wrong; null when it is right. */
export function deletionProblem(
  { pod, node, atMs }: { readonly pod: string; readonly node: string; readonly atMs: number },
  { silences, taints }: { readonly silences: readonly Silence[]; readonly taints: readonly SeenTaint[] },
  { tolerationMs, crossingMs }: SoakSettings,
): string | null {
  const silence = silenceAt(silences, atMs, crossingMs);
  if (silence === null) return `${pod} on live node ${node} was deleted at ${clockOf(atMs)}`;
  const ofThisSilence = taints.filter((taint) => taint.node === node && taint.addedMs >= silence.fromMs - STAMP_MS);
  const first = Math.min(...ofThisSilence.map(({ addedMs }) => addedMs));
  if (!Number.isFinite(first)) return `${pod} was deleted from ${node}, which carried no NoExecute taint`;
  const earlyMs = first + tolerationMs - atMs - STAMP_MS;
  return earlyMs > 0 ? `${pod} was deleted ${earlyMs} ms before the end of its toleration` : null;
}

/** The windows between two taints of one zone that hold more taints than one token and the rate allow. */
export function rateProblems(taints: readonly SeenTaint[], { taintsPerSecond }: SoakSettings): string[] {
  return [...Map.groupBy(taints, ({ zone }) => zone)].flatMap(([zone, ofZone]) => {
    const stamps = ofZone.map(({ addedMs }) => addedMs).toSorted((left, right) => left - right);
    return stamps.flatMap((fromMs, first) =>
      stamps.slice(first).flatMap((toMs, further) => {
        const most = 1 + (taintsPerSecond * (toMs - fromMs + STAMP_MS)) / 1000;
        const problem = `zone ${zone}: ${further + 1} taints from ${clockOf(fromMs)} to ${clockOf(toMs)}`;
        return further + 1 > most ? [problem] : [];
      }),
    );
  });
}

/** A node as the API shows it at the end. */
export interface FinalNode {
  readonly name: string;
  readonly ready: string | null;
  /** `key:effect` of every taint of the lifecycle. */
  readonly taints: readonly string[];
  /** Its pods whose deletion was not requested. */
  readonly staying: readonly string[];
}

/** What is not right yet about a node once the faults have ended. */
export function finalProblems({ name, ready, taints, staying }: FinalNode, isLive: boolean): string[] {
  if (isLive) {
    return [
      ...(ready === "True" ? [] : [`live node ${name} shows Ready=${ready}`]),
      ...taints.map((taint) => `live node ${name} carries ${taint}`),
    ];
  }
  return [
    ...(ready === "Unknown" ? [] : [`silent node ${name} shows Ready=${ready}`]),
    ...["NoSchedule", "NoExecute"]
      .map((effect) => `node.kubernetes.io/unreachable:${effect}`)
      .filter((taint) => !taints.includes(taint))
      .map((taint) => `silent node ${name} lacks ${taint}`),
    ...staying.map((pod) => `${pod} stays on silent node ${name}`),
  ];
}

/** An instant as the report shows it. */
export function clockOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23);
}
