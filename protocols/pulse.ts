/** The message by which processes know each other. */
import { z } from "zod";

/** Body of `pulse.member`: this process lives and offers to own shards of these services; `leaving` says goodbye. */
export const pulseMember = z.object({
  member: z.string(),
  services: z.array(z.string()),
  /** When the process started, on its wall clock. */
  since: z.number(),
  leaving: z.boolean(),
  /** How late its event loop runs, in milliseconds. */
  lagMs: z.number().optional(),
  /** Which Kubernetes cluster it minds, by the uid of namespace kube-system there; absent when it does not know. */
  clusterUid: z.string().optional(),
  /**
   * What it cannot do because its requests to the API server fail, and since when on its wall clock; absent while they
   * are answered. It keeps in `services` what nobody else can do either.
   */
  unable: z.object({ services: z.array(z.string()), since: z.number() }).optional(),
  /** What it runs and leaves to others for now, because it is unable or was a short while ago; absent when nothing. */
  withheld: z.array(z.string()).optional(),
});
