/** Sets versions, endpoints, images and platform, and emits the Event about scheduling. */
import { type ContainerImage, isProblem } from "../machine-stats.ts";
import { withStatus } from "../node-object.ts";
import { type Setter, statusEvent } from "./setter.ts";

/** kubelet's MaxNamesPerImageInNodeStatus. */
const NAMES_PER_IMAGE_MAX = 5;
/** kubelet's default of nodeStatusMaxImages. */
const IMAGES_MAX = 50;
const KUBELET_PORT = 10250;

/** Sets kernel, OS image, runtime and kubelet versions; kubeProxyVersion is cleared, as in 1.36. */
export const setVersion: Setter = (node, { stats, settings }) => {
  const { version } = stats;
  if (isProblem(version)) return { node, problem: `error getting version info: ${version.problem}` };
  const nodeInfo = {
    ...node.status?.nodeInfo,
    kernelVersion: version.kernel,
    osImage: version.osImage,
    containerRuntimeVersion: version.runtime ?? "Unknown",
    kubeletVersion: settings.kubeletVersion,
    kubeProxyVersion: "",
  };
  return { node: withStatus(node, { nodeInfo }) };
};

/** Sets the kubelet's port. */
export const setEndpoints: Setter = (node) => ({
  node: withStatus(node, { daemonEndpoints: { kubeletEndpoint: { Port: KUBELET_PORT } } }),
});

/** Sets the largest images, largest first. */
export const setImages: Setter = (node, { stats: { images } }) => {
  const bySize = [...images].sort((left, right) => right.sizeBytes - left.sizeBytes);
  const kept = bySize.slice(0, IMAGES_MAX).map(imageEntry);
  return { node: withStatus(node, { images: kept.length > 0 ? kept : undefined }) };
};

function imageEntry({ digests, tags, sizeBytes }: ContainerImage) {
  return { names: [...digests, ...tags].slice(0, NAMES_PER_IMAGE_MAX), sizeBytes };
}

/** Sets operating system and architecture. */
export const setPlatform: Setter = (node, { stats }) => {
  const { operatingSystem, architecture } = stats;
  return { node: withStatus(node, { nodeInfo: { ...node.status?.nodeInfo, operatingSystem, architecture } }) };
};

/** Sets nothing; emits an Event when spec.unschedulable has changed. */
export const reportSchedulable: Setter = (node, { reported }) => {
  const unschedulable = node.spec?.unschedulable ?? false;
  if (unschedulable === reported.unschedulable) return { node };
  return { node, events: [statusEvent(node, unschedulable ? "NodeNotSchedulable" : "NodeSchedulable")] };
};
