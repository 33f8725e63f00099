# Sluice on Debian 13 and Node 24. Built JavaScript only: no compiler and no development package in
# the image. Runs as uid 1000 on a read-only root file system; /data is the only place it writes to.
#
#   docker build -t sluice .
#   docker run --read-only --tmpfs /tmp -v sluice-data:/data -p 8080:8080 -p 4318:4318 sluice
#
# docs/deployment.md has the other ways: compose, Kubernetes, systemd.

ARG NODE_IMAGE=docker.io/library/node:24-trixie-slim

FROM ${NODE_IMAGE} AS build
# re2 is compiled where no built one can be downloaded, with the headers that the image has.
ENV npm_config_nodedir=/usr/local
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates g++ make python3 \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
# What other systems need of the native packages, and what compiling left, is most of their size.
RUN npm run build \
 && npm prune --omit=dev --no-audit --no-fund \
 && addon="uws_linux_$(node -p 'process.arch')_$(node -p 'process.versions.modules').node" \
 && test -f "node_modules/uWebSockets.js/${addon}" \
 && find node_modules/uWebSockets.js dist -name 'uws_*.node' ! -name "${addon}" -delete \
 && find node_modules/re2 -mindepth 1 -maxdepth 1 \
      ! -name build ! -name package.json ! -name 're2.*' ! -name LICENSE ! -name lib \
      -exec rm -rf {} + \
 && find node_modules/re2/build -type f ! -name re2.node -delete \
 && rm -rf src bin/build.js bin/mend-uws.js \
 && node bin/sluice.js corpus verify

FROM ${NODE_IMAGE}
ENV NODE_ENV=production \
    DATA_DIR=/data \
    HOST=0.0.0.0
WORKDIR /app
COPY --from=build /app ./
RUN install -d -o 1000 -g 1000 -m 0700 /data
USER 1000:1000
VOLUME /data
EXPOSE 8080 4318
# Seconds are allowed at the start for the embedded PostgreSQL's first initdb.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ADMIN_PORT || 9464}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--v8-pool-size=0", "bin/sluice.js"]
CMD ["serve"]
