/** Lists the leases of control-plane components and API servers: when each was last renewed. */
import type { Clock, Wire } from "../../../../protocols/ports.ts";
import { LEASE } from "../protobuf/protobuf-shapes.ts";
import { collectionPath } from "../transport/paths.ts";
import { startListing } from "./listing.ts";
import { projectLease, UNREPORTED } from "./projection.ts";

/** Where control-plane components and API servers have their leases. */
const COMPONENT_NAMESPACE = "kube-system";
const PAGE_ITEMS = 500;
/** There are few of them. */
const OPEN_MS = 10_000;

/** Lists them once; see `Kube.componentLeases`. */
export function listComponentLeases(
  io: { readonly wire: Wire; readonly clock: Clock },
  done: (renewTimes: readonly number[] | null) => void,
): void {
  const renewTimes: number[] = [];
  const path = collectionPath("Lease", COMPONENT_NAMESPACE);
  const options = { path, selectors: {}, form: "protobuf", shape: LEASE, fromCache: false } as const;
  startListing(
    io,
    { ...options, limit: PAGE_ITEMS, openMs: OPEN_MS },
    {
      item: (raw) => {
        const renewedAt = projectLease(raw, UNREPORTED)?.renewedAt ?? null;
        if (renewedAt !== null) renewTimes.push(renewedAt);
      },
      closed: (end) => done(end.kind === "listed" ? renewTimes : null),
    },
  );
}
