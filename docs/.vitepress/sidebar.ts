/** The site's pages in reading order. */

/** A page of the sidebar; its link is its path without `.md`. */
export interface SidebarPage {
  readonly text: string;
  readonly link: string;
}

/** A group of pages. */
export interface SidebarGroup {
  readonly text: string;
  readonly collapsed?: boolean;
  readonly items: SidebarPage[];
}

/** Every page but the decisions, which their list names. */
export const SIDEBAR: readonly SidebarGroup[] = [
  {
    text: "Start here",
    items: [
      { text: "Vigil", link: "/" },
      { text: "Three ways to start", link: "/docs/start" },
      { text: "The first half hour", link: "/docs/first-half-hour" },
      { text: "Run it in a cluster", link: "/docs/run-in-a-cluster" },
      { text: "Managed clusters", link: "/docs/managed-clusters" },
      { text: "Helm chart", link: "/deploy/helm/vigil/README" },
    ],
  },
  {
    text: "How to",
    items: [
      { text: "Install the command", link: "/docs/how-to/install-the-command" },
      { text: "Change settings", link: "/docs/how-to/settings" },
      { text: "Watch a cluster in shadow mode", link: "/docs/how-to/shadow-mode" },
      { text: "Make the image and keys", link: "/docs/how-to/image-and-keys" },
      { text: "Preview a failure", link: "/docs/how-to/preview" },
      { text: "Find out why", link: "/docs/how-to/explain" },
      { text: "Stop evictions at once", link: "/docs/how-to/freeze" },
      { text: "Give a pool its own rules", link: "/docs/how-to/pool-policy" },
      { text: "Take a node into maintenance", link: "/docs/how-to/maintenance" },
      { text: "Release stuck pods", link: "/docs/stuck-pods" },
      { text: "Have a node repaired", link: "/docs/how-to/remediation" },
      { text: "Monitor Vigil", link: "/docs/how-to/monitor" },
      { text: "Say who may read the console", link: "/docs/how-to/console-access" },
      { text: "Run more processes", link: "/docs/how-to/more-processes" },
      { text: "Listen to messages", link: "/docs/listen" },
      { text: "Run hollow nodes", link: "/docs/how-to/hollow-nodes" },
      { text: "Upgrade, and back", link: "/docs/how-to/upgrade" },
      { text: "Replace upstream", link: "/docs/how-to/replace-upstream" },
      { text: "Go back to upstream", link: "/docs/how-to/go-back" },
    ],
  },
  {
    text: "When something is wrong",
    items: [
      { text: "Troubleshooting by symptom", link: "/docs/troubleshooting" },
      { text: "When something fails", link: "/docs/how-to/when-something-fails" },
      { text: "When an alert fires", link: "/docs/alerts" },
      { text: "When the API server is away", link: "/docs/outages" },
      { text: "FAQ", link: "/docs/faq" },
    ],
  },
  {
    text: "Understand it",
    items: [
      { text: "Node policies", link: "/docs/policies" },
      { text: "Comparison", link: "/docs/comparison" },
      { text: "Versions, and what stays", link: "/docs/versioning" },
      { text: "Sizing and objectives", link: "/docs/sizing" },
      { text: "Security", link: "/SECURITY" },
      { text: "Security posture", link: "/docs/security-posture" },
      { text: "Glossary", link: "/docs/glossary" },
      { text: "Architecture", link: "/docs/architecture" },
      { text: "Statecharts", link: "/docs/machines" },
      { text: "Decisions", link: "/docs/decisions/README" },
    ],
  },
  {
    text: "Reference",
    items: [
      { text: "Verbs and flags", link: "/docs/reference/verbs" },
      { text: "NodePolicy fields", link: "/docs/reference/node-policy" },
      { text: "JSON of the console", link: "/docs/reference/console" },
      { text: "Metrics", link: "/docs/metrics" },
      { text: "Events", link: "/docs/events" },
      { text: "What explain says", link: "/docs/explain" },
      { text: "The protocol", link: "/protocols/README" },
      { text: "Parity with upstream", link: "/docs/parity" },
      { text: "Conformance", link: "/docs/conformance" },
      { text: "Performance", link: "/docs/performance" },
      { text: "Incidents, played again", link: "/docs/incidents" },
    ],
  },
  {
    text: "The project",
    collapsed: true,
    items: [
      { text: "Changelog", link: "/CHANGELOG" },
      { text: "Contributing", link: "/CONTRIBUTING" },
      { text: "Code of conduct", link: "/CODE_OF_CONDUCT" },
      { text: "NATS roles and keys", link: "/deploy/nats/README" },
    ],
  },
];
