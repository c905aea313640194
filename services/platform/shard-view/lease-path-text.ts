/** The sentence about leases that are not renewed while their nodes are alive. Every report of it uses these words. */
import type { BrokenLeasePath } from "../../../protocols/observed.ts";
import { apiTime } from "../../domain/api-time.ts";
import { countText } from "../../domain/format.ts";

/** That the path of leases is broken, and what to check. */
export function leasePathText({ nodes, renewedAt, posted, postedAt }: BrokenLeasePath): string {
  return (
    `no lease of any of ${nodes} nodes was renewed since ${apiTime(renewedAt)}, statuses still arrive: ` +
    `of ${countText(posted, "node")}, the last at ${apiTime(postedAt)}; ` +
    "check namespace kube-node-lease, and what refuses writes of leases"
  );
}
