/** etcd is restored, and the controller starts with it. */
import { describeOutage } from "./both-controllers.ts";
import { restoredEtcd, SPEC } from "./restored-etcd.ts";

describeOutage("etcd restored, controller restarts", SPEC, restoredEtcd({ restarts: true }));
