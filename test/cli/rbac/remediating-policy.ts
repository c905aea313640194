/** A policy whose remediations `vigil rbac` prints roles for. */

/** The API group of its templates. */
export const GROUP = "self-node-remediation.medik8s.io";
/** Their version. */
export const VERSION = "v1alpha1";
/** Their namespace. */
export const NAMESPACE = "medik8s";

/** The policy as a manifest. */
export const REMEDIATING_POLICY = `
apiVersion: vigil.io/v1alpha1
kind: NodePolicy
metadata: { name: gpu }
spec:
  selector: {}
  remediations:
    - timeout: 5m
      template:
        apiVersion: ${GROUP}/${VERSION}
        kind: SelfNodeRemediationTemplate
        namespace: ${NAMESPACE}
        name: reboot
`;
