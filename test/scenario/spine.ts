/** What most scenarios of nodes start with: a cluster on virtual time with observer, node and node-writer. */
import { nodeService } from "../../services/node/node.service.ts";
import { nodeWriterService } from "../../services/node-writer/node-writer.service.ts";
import { observerService } from "../../services/observer/observer.service.ts";
import type { Services } from "../support/virtual-cluster.ts";

/** The services that find silent nodes and keep conditions, taints and labels right. */
export const SPINE: Services = { observer: observerService, node: nodeService, "node-writer": nodeWriterService };

/** The observer alone, for a process of its own. */
export const OBSERVER: Services = { observer: observerService };

/** The spine without its observer. */
export const JUDGES: Services = { node: nodeService, "node-writer": nodeWriterService };

/** The node service alone. */
export const NODE: Services = { node: nodeService };

/** The four conditions of a node that was found silent. */
export const ALL_UNKNOWN = ["DiskPressure=Unknown", "MemoryPressure=Unknown", "PIDPressure=Unknown", "Ready=Unknown"];

/** The conditions of a healthy node. */
export const ALL_WELL = ["DiskPressure=False", "MemoryPressure=False", "PIDPressure=False", "Ready=True"];
