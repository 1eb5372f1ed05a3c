import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/core/secret.ts";
import { KEY, startTestGateway } from "../support/gateway.ts";
import { rawRequest } from "../support/raw.ts";

const SECRET = "a-path-secret-0123456789";

describe("a gateway behind a tunnel", () => {
  const ask = async (path: string, headers: readonly string[], host = "tunnel.example") => {
    const gateway = await startTestGateway({ pathSecret: new Secret(SECRET), hosts: ["tunnel.example"] });
    return rawRequest(gateway.port, [
      `GET ${path} HTTP/1.1`,
      `host: ${host}`,
      `authorization: Bearer ${KEY}`,
      ...headers,
    ]);
  };

  it.each<[string, string, readonly string[], string | undefined, number]>([
    ["with the secret", `/${SECRET}/v1/models`, [], undefined, 200],
    ["with the secret and a style", `/${SECRET}/tags/v1/models`, [], undefined, 200],
    ["without it", "/v1/models", [], undefined, 404],
    ["with another one", `/${SECRET}x/v1/models`, [], undefined, 404],
    ["with a part of it", `/${SECRET.slice(0, -1)}/v1/models`, [], undefined, 404],
    ["with nothing but it", `/${SECRET}`, [], undefined, 404],
    ["with it in the query", `/v1/models?/${SECRET}/`, [], undefined, 404],
    ["to see whether anybody is there", "/healthz", [], undefined, 404],
    ["from this machine", "/v1/models", [], "127.0.0.1", 200],
    ["passed on with a changed host", "/v1/models", ["x-forwarded-for: 203.0.113.7"], "localhost", 404],
    ["passed on with the secret", `/${SECRET}/v1/models`, ["x-forwarded-for: 203.0.113.7"], "localhost", 200],
  ])("is reached or not: %s", async (_, path, headers, host, status) => {
    expect((await ask(path, headers, host)).status).toBe(status);
  });

  it("asks for the key as well", async () => {
    const gateway = await startTestGateway({ pathSecret: new Secret(SECRET), hosts: ["tunnel.example"] });
    const { status } = await rawRequest(gateway.port, [`GET /${SECRET}/v1/models HTTP/1.1`, "host: tunnel.example"]);
    expect(status).toBe(401);
  });

  it("logs nothing of the secret", async () => {
    const gateway = await startTestGateway({ pathSecret: new Secret(SECRET), hosts: ["tunnel.example"] });
    for (const path of [`/${SECRET}/v1/models`, `/${SECRET}/nowhere`, `/x${SECRET}/v1/models`]) {
      await rawRequest(gateway.port, [`GET ${path} HTTP/1.1`, "host: tunnel.example"]);
    }
    await gateway.close(0);
    expect(JSON.stringify(gateway.log)).not.toContain(SECRET);
  });
});
