# syntax=docker/dockerfile:1
# The sidecar runs from its sources: Node 24 strips the types itself, so there is no build step.

ARG NODE_IMAGE=node:24.21.0-slim

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts

# The example agent, its traffic and the scripted judge of docker-compose.yml's profile `demo`. They need the reference
# client and encoder, which the sidecar does not.
FROM ${NODE_IMAGE} AS examples
WORKDIR /app
ENV HOST=0.0.0.0
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY examples ./examples
USER node
CMD ["node", "examples/agent/main.ts"]

FROM ${NODE_IMAGE} AS sidecar
ARG REVISION=unknown
WORKDIR /app
ENV NODE_ENV=production REVISION=${REVISION}
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY src ./src
USER node
EXPOSE 8080 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ADMIN_PORT ?? 9464}/livez`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# A short and cheap garbage collector: docs/performance.md says what each option gives.
CMD ["node", "--max-semi-space-size=16", "--v8-pool-size=1", "--no-allocation-site-pretenuring", "--no-memory-reducer", "--no-parallel-scavenge", "src/cli.ts", "serve"]
