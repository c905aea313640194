/** The message by which processes know each other. */
import { z } from "zod";
import { durationMs, instant, listOf, name, word } from "./bounds.ts";

/** Most services a process can have: many times as many as there are. */
const SERVICES_MAX = 64;
const services = listOf(word, SERVICES_MAX);

/** Body of `pulse.member`: this process lives and offers to own shards of these services; `leaving` says goodbye. */
export const pulseMember = z.object({
  member: name,
  services,
  /** When the process started, on its wall clock. */
  since: instant,
  leaving: z.boolean(),
  /** How late its event loop runs, in milliseconds. */
  lagMs: durationMs.optional(),
  /** Which Kubernetes cluster it minds, by the uid of namespace kube-system there; absent when it does not know. */
  clusterUid: name.optional(),
  /**
   * What it cannot do because its requests to the API server fail, and since when on its wall clock; absent while they
   * are answered. It keeps in `services` what nobody else can do either.
   */
  unable: z.object({ services, since: instant }).optional(),
  /** What it runs and leaves to others for now, because it is unable or was a short while ago; absent when nothing. */
  withheld: services.optional(),
});
