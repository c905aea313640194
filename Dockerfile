# The product's image for every architecture of the base: Node, the libraries it needs, the production packages and the
# sources, which Node 24 runs as they are. It has no shell and no package manager.
ARG NODE_IMAGE=node:24.20.0-bookworm-slim@sha256:ba849c60be29959425b8734d57b8b4b7d56f98edd9504c9af091d5281095a71e

FROM ${NODE_IMAGE} AS build
WORKDIR /vigil
COPY package.json package-lock.json ./
RUN ["node", "/usr/local/lib/node_modules/npm/bin/npm-cli.js", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]
# Half of the packages' files are types and source maps, which are not used at run time.
RUN ["node", "-e", "const { globSync, rmSync } = require('node:fs'); for (const file of globSync('node_modules/**/*.{map,d.ts,d.cts,d.mts}')) rmSync(file, { recursive: true });"]
COPY deploy/image/root.ts /build/root.ts
RUN ["node", "/build/root.ts", "/root-of-image"]

FROM scratch
COPY --from=build /root-of-image /
ENV PATH=/usr/local/bin NODE_ENV=production
WORKDIR /vigil
COPY package.json LICENSE ./
COPY --from=build /vigil/node_modules node_modules
COPY protocols protocols
COPY services services
# The playground serves the definition of policies.
COPY deploy/crd deploy/crd
# Fills the compile cache for faster starts and less memory, as the user that runs the product. Code is cached for the
# flags of V8 that compiled it, and `run` sets some.
RUN ["node", "-e", "const fs = require('node:fs'); const folder = 'node_modules/.cache/vigil'; fs.mkdirSync(folder, { recursive: true }); fs.chownSync(folder, 65532, 65532)"]
USER 65532:65532
RUN ["node", "services/vigil.js", "version"]
RUN ["node", "services/vigil.js", "run", "--help"]
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/livez').then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "services/vigil.js"]
CMD ["run", "--listen=0.0.0.0:8080"]
