/** The seconds that a judgement of a pod carries must be those for which the pod has tolerated the taint it names. */
import type { BodyOf, Message } from "../../protocols/messages.ts";
import type { TaintId } from "../../protocols/objects.ts";
import type { Stored } from "../../services/sandbox/apiserver/store/stored.ts";
import { BrokenInvariant, type CheckedPod, type CheckedToleration } from "./invariants.ts";

/** Checks the judgements of pods. */
export class TolerationClaims {
  /** All tolerations that each pod has had, by its uid. */
  readonly #tolerations = new Map<string, CheckedToleration[]>();

  /** Records the state of a pod. */
  pod({ uid, json }: Pick<Stored, "uid" | "json">): void {
    const { tolerations = [] } = (JSON.parse(json) as CheckedPod).spec;
    const known = this.#tolerations.get(uid) ?? [];
    const added = tolerations.filter((toleration) => !known.some((each) => isAlike(each, toleration)));
    this.#tolerations.set(uid, [...known, ...added]);
  }

  /** Records a judgement that its owner sends. */
  check({ body, source }: Message<"judged.pod">): void {
    const { taint, toleratedTaint, tolerationSeconds: seconds }: BodyOf<"judged.pod"> = body;
    const tolerated = toleratedTaint ?? taint;
    if (tolerated === null || seconds === null) return;
    const known = this.#tolerations.get(body.uid) ?? [];
    if (known.some((each) => each.tolerationSeconds === seconds && isFor(each, tolerated))) return;
    throw new BrokenInvariant(
      `${source} says that ${body.name} tolerates ${tolerated.key} for ${seconds} s, which it never has`,
    );
  }
}

function isAlike(left: CheckedToleration, right: CheckedToleration): boolean {
  return left.key === right.key && left.effect === right.effect && left.tolerationSeconds === right.tolerationSeconds;
}

/** Whether a toleration is for a taint of some value. An empty key or effect matches every one. */
function isFor({ key = "", effect = "" }: CheckedToleration, taint: TaintId): boolean {
  return (key === "" || key === taint.key) && (effect === "" || effect === taint.effect);
}
