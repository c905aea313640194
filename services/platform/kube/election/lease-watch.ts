/** Watches the one Lease of an election, so that a candidate learns of a release at once. */
import type { Io, Stop, Wire } from "../../../../protocols/ports.ts";
import { textOf } from "../../../structures/json.ts";
import { collectionPath } from "../transport/paths.ts";
import type { ApiReachability } from "../transport/reachability.ts";
import { UNREPORTED } from "../watch/projection.ts";
import { ShownVersions } from "../watch/shown-versions.ts";
import { Reader } from "../watch/watch-reader.ts";
import { PLAIN_RESOURCE, type WatchedResource } from "../watch/watched.ts";
import { type ElectionLease, electionLeaseOf } from "./election.policy.ts";

/** The ports of the watch, and the Lease. */
export interface LeaseWatchIo extends Pick<Io, "clock" | "random" | "log"> {
  readonly wire: Wire;
  readonly lease: { readonly namespace: string; readonly name: string };
  readonly watchBlindMs: number;
  readonly reachability: ApiReachability | null;
}

/** Receives the Lease. */
export interface LeaseSink {
  readonly changed: (lease: ElectionLease) => void;
  readonly gone: () => void;
}

/** Watches until the returned function is called. */
export function watchLease(io: LeaseWatchIo, { changed, gone }: LeaseSink): Stop {
  const reader = new Reader(
    "election",
    resourceOf(io.lease),
    { changed, gone, state: () => {} },
    {
      ...io,
      shown: new ShownVersions(),
      proven: null,
      projection: UNREPORTED,
      count: { list: () => {}, line: () => {} },
    },
  );
  return () => reader.stop();
}

function resourceOf({ namespace, name }: LeaseWatchIo["lease"]): WatchedResource<ElectionLease> {
  // A right to one named object allows only lists and watches that select that name.
  const selectors = { fieldSelector: `metadata.name=${name}` };
  return {
    ...PLAIN_RESOURCE,
    path: collectionPath("Lease", namespace),
    selectors,
    listSelectors: selectors,
    project: electionLeaseOf,
    name: ({ metadata }) => textOf(metadata.name) ?? "",
    uid: ({ metadata }) => textOf(metadata.uid) ?? "",
    version: ({ metadata }) => textOf(metadata.resourceVersion) ?? "",
  };
}
