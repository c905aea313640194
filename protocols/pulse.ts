/** The message by which the processes of a fleet discover each other. */
import { z } from "zod";
import { durationMs, instant, listOf, name, word } from "./bounds.ts";

/** Most services of a process: many times as many as there are. */
const SERVICES_MAX = 64;
const services = listOf(word, SERVICES_MAX);

/** Body of `pulse.member`: the process is alive and offers to own shards of these services; with `leaving` it ends. */
export const pulseMember = z.object({
  member: name,
  services,
  /** When the process started, on its wall clock. */
  since: instant,
  leaving: z.boolean(),
  /** How late its event loop runs, in milliseconds. */
  lagMs: durationMs.optional(),
  /** The uid of namespace kube-system, which identifies its Kubernetes cluster; absent when it is not known. */
  clusterUid: name.optional(),
  /**
   * The services that it cannot run because its requests to the API server fail, and since when on its wall clock;
   * absent while they succeed. Those that no other member can run stay in `services`.
   */
  unable: z.object({ services, since: instant }).optional(),
  /**
   * The services that it runs but leaves to others, because it is or was recently unable; absent when there are none.
   */
  withheld: services.optional(),
});
