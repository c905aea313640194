/** Every incident, in the order of docs/incidents.md. */
import type { Incident } from "./incident.ts";
import { CLOCK_BACK, CLOCK_STEP } from "./nodes/clock-jumps.ts";
import { FLEET_START } from "./nodes/fleet-start.ts";
import { KUBELET_RESTART } from "./nodes/kubelet-restart.ts";
import { MACHINE_DIES } from "./nodes/machine-dies.ts";
import { OLD_KUBELET } from "./nodes/old-kubelet.ts";
import { REGISTERED_AGAIN } from "./nodes/registered-again.ts";
import { TWO_KUBELETS } from "./nodes/two-kubelets.ts";
import { API_AWAY } from "./outages/api-away.ts";
import { API_FROZEN } from "./outages/api-frozen.ts";
import { POWER_CUT } from "./outages/power-cut.ts";
import { RESTARTED_TOGETHER } from "./outages/restarted-together.ts";
import { RESTORED_ETCD, RESTORED_ETCD_RESTART } from "./outages/restored-etcd.ts";
import { ROLLING_RESTART } from "./outages/rolling-restart.ts";
import { CONTROLLER_RESTART } from "./pods/controller-restart.ts";
import { DENIED_DELETION } from "./pods/denied-deletion.ts";
import { LONGER_TOLERATION } from "./pods/longer-toleration.ts";
import { ONE_OF_TWO_TAINTS } from "./pods/one-of-two-taints.ts";
import { STATIC_PODS } from "./pods/static-pods.ts";
import { FROZEN_CONTROLLER } from "./silence/frozen-controller.ts";
import { LOAD_BALANCER } from "./silence/load-balancer.ts";
import { MASTERS_IN_RATIO } from "./silence/masters-in-ratio.ts";
import { REFUSED_LEASES } from "./silence/refused-leases.ts";
import { SLOW_WAY } from "./silence/slow-way.ts";
import { STALLED_PATH } from "./silence/stalled-path.ts";
import { ZONES_MOVE } from "./silence/zones-move.ts";

/** All of them. */
export const INCIDENTS: readonly Incident[] = [
  MACHINE_DIES,
  API_AWAY,
  RESTARTED_TOGETHER,
  POWER_CUT,
  RESTORED_ETCD,
  RESTORED_ETCD_RESTART,
  API_FROZEN,
  ROLLING_RESTART,
  CONTROLLER_RESTART,
  FROZEN_CONTROLLER,
  STALLED_PATH,
  LOAD_BALANCER,
  SLOW_WAY,
  REFUSED_LEASES,
  ZONES_MOVE,
  MASTERS_IN_RATIO,
  KUBELET_RESTART,
  CLOCK_BACK,
  CLOCK_STEP,
  OLD_KUBELET,
  TWO_KUBELETS,
  REGISTERED_AGAIN,
  STATIC_PODS,
  LONGER_TOLERATION,
  ONE_OF_TWO_TAINTS,
  DENIED_DELETION,
  FLEET_START,
];
