/** The message by which processes know each other. */
import { z } from "zod";

/** Body of `pulse.member`: this process lives and runs these services; `leaving` says goodbye. */
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
});
