# Excursor in a container: docs/install.md#in-a-container
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim

FROM ${NODE_IMAGE} AS make
WORKDIR /src
COPY . .
RUN npm ci --ignore-scripts --no-audit --no-fund && npm pack --pack-destination /tmp

# A release gives its own package instead of this stage.
FROM scratch AS pack
COPY --from=make /tmp/excursor-*.tgz /

FROM ${NODE_IMAGE} AS build
COPY --from=pack /excursor-*.tgz /tmp/
COPY package.json /tmp/
RUN npm install --global --prefix /opt/excursor --ignore-scripts --no-audit --no-fund /tmp/excursor-*.tgz \
    "@redis/client@$(node --print 'require("/tmp/package.json").devDependencies["@redis/client"]')"

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Excursor" \
  org.opencontainers.image.description="A two-way bridge between Cursor and everything else." \
  org.opencontainers.image.licenses="MIT"
COPY --from=build /opt/excursor /opt/excursor
# A new volume takes owner and mode from here. The gateway refuses a home that others can read.
RUN install -d -m 700 -o 1000 -g 1000 /data
# Inside a container, loopback is the container's own. Publish the port on the host's loopback: -p 127.0.0.1:8787:8787
ENV PATH=/opt/excursor/bin:$PATH HOME=/data EXCURSOR_HOME=/data EXCURSOR_HOST=0.0.0.0 EXCURSOR_PORT=8787 EXCURSOR_KEYCHAIN=off
USER 1000:1000
VOLUME /data
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.EXCURSOR_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["excursor"]
CMD ["serve"]
