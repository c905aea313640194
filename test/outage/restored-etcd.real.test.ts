/** etcd is restored while the controller runs. */
import { describeOutage } from "./both-controllers.ts";
import { restoredEtcd, SPEC } from "./restored-etcd.ts";

describeOutage("etcd restored, controller runs on", SPEC, restoredEtcd({ restarts: false }));
