/** One page of a list, read past the watches: for questions about the cluster that concern no service. */
import type { Clock, HttpRequest, Wire } from "../../../../protocols/ports.ts";
import { listOf, parsed, recordOf } from "../../../structures/json.ts";
import { type Answer, call } from "./call.ts";
import { refusalOf } from "./outcome.policy.ts";

/** Objects per page. */
const PAGE_ITEMS = 500;

const TIMEOUT_MS = 10_000;

/** Accept header for objects without spec and status: only their metadata is sent. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** A page, or why there is none. */
export type ListPage = { readonly items: readonly unknown[] } | { readonly items: null; readonly detail: string };

/** What to list: a collection's path, a field selector, and whether the metadata is enough. */
export interface ListPageOptions {
  readonly path: string;
  readonly fieldSelector?: string;
  readonly isMetadataOnly?: boolean;
}

/** Reads the first page of a list. Never rejects. */
export function listPage(
  io: { readonly wire: Wire; readonly clock: Clock },
  { path, fieldSelector, isMetadataOnly = false }: ListPageOptions,
): Promise<ListPage> {
  const query = new URLSearchParams({ limit: String(PAGE_ITEMS) });
  if (fieldSelector !== undefined) query.set("fieldSelector", fieldSelector);
  const headers = { accept: isMetadataOnly ? METADATA_ONLY : "application/json" };
  const request: HttpRequest = { method: "GET", path: `${path}?${query.toString()}`, headers, body: null };
  return new Promise((resolve) => {
    call(io, request, TIMEOUT_MS, (answer) => resolve(pageIn(answer)));
  });
}

function pageIn(answer: Answer): ListPage {
  if (answer.kind === "lost") return { items: null, detail: answer.message };
  if (answer.status === 200) return { items: listOf(recordOf(parsed(answer.text)).items) };
  return { items: null, detail: refusalOf(answer).message };
}
