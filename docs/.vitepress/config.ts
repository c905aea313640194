/**
 * The documentation site: every page of the repository, under the path that it has there, so that links work on GitHub
 * and on the site. `npm run docs` serves it, `npm run docs:build` builds it into docs/.vitepress/dist.
 */
import { defineConfig } from "vitepress";
import { headingSlug } from "./heading-slug.ts";
import { withSiteLinks } from "./repository-links.ts";
import { SIDEBAR } from "./sidebar.ts";

const config: ReturnType<typeof defineConfig> = defineConfig({
  title: "Vigil",
  description: "A Kubernetes node lifecycle controller built as actors on a NATS message bus",
  srcDir: "..",
  srcExclude: [".*/**", "dist/**"],
  rewrites: { "README.md": "index.md" },
  cacheDir: "../node_modules/.cache/vitepress",
  // The build fails on a link to a page that does not exist.
  ignoreDeadLinks: false,
  markdown: {
    anchor: { slugify: headingSlug },
    config: (md) => {
      md.core.ruler.push("repository-links", ({ tokens, env }) => {
        for (const token of tokens) {
          if (token.children !== null) token.children = withSiteLinks(token.children, env.relativePath);
        }
      });
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Start", link: "/docs/start" },
      { text: "Policies", link: "/docs/policies" },
      { text: "Reference", link: "/docs/reference/verbs" },
      { text: "FAQ", link: "/docs/faq" },
    ],
    sidebar: [...SIDEBAR],
  },
});

export default config;
