/**
 * The files that the chart takes from elsewhere, by their names in it. Helm reads nothing outside of a chart and warns
 * of links, so each is a copy that `npm run fix` writes.
 */
export const CHART_FILES: Readonly<Record<string, string>> = {
  "await-former.sh": "deploy/nats/await-former.sh",
  "cluster.conf": "deploy/nats/cluster.conf",
  "nats.conf": "deploy/nats/nats.conf",
  "nodepolicies.yaml": "deploy/crd/nodepolicies.yaml",
  "roles.conf": "deploy/nats/roles.conf",
  "vigil.json": "deploy/grafana/vigil.json",
  "vigil.rules.yaml": "deploy/prometheus/vigil.rules.yaml",
};
