import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import type { FaceModule } from "../../../src/faces/shared/face-module.ts";
import { createRouter, type Route } from "../../../src/server/routes/route.ts";

const face = (name: string, isSpokenBy?: FaceModule["isSpokenBy"]): FaceModule => ({
  name,
  ...(isSpokenBy && { isSpokenBy }),
  error: () => ({ status: 500, headers: {}, body: {} }),
  routes: () => [],
});
const usual = face("usual");
const other = face("other", (headers) => headers["x-other"] !== undefined);
const route = (method: Route["method"], path: string, owner = usual): Route => ({
  method,
  path,
  face: owner,
  handle: () => {},
});

const find = createRouter([
  route("GET", "/v1/models"),
  route("GET", "/v1/models", other),
  route("GET", "/v1/models/{id}"),
  route("GET", "/v1/models/{id}/limits"),
  route("DELETE", "/v1/models/{id}"),
  route("POST", "/v1/models/count"),
  route("POST", "/beta/{model}:ask", other),
]);
const ask = (method: string, url: string, headers = {}) => find({ method, url, headers } as IncomingMessage);

describe("a path with a parameter", () => {
  it.each([
    ["GET", "/v1/models/a", "/v1/models/{id}", { id: "a" }],
    ["HEAD", "/v1/models/a?b=c", "/v1/models/{id}", { id: "a" }],
    ["GET", "/v1/models/vendor/a%20b", "/v1/models/{id}", { id: "vendor/a b" }],
    ["GET", "/v1/models/a/limits", "/v1/models/{id}/limits", { id: "a" }],
    ["POST", "/beta/x/y:ask?key=1", "/beta/{model}:ask", { model: "x/y" }],
    ["POST", "/beta/a:b:ask", "/beta/{model}:ask", { model: "a:b" }],
    ["GET", "/v1/models/{id}", "/v1/models/{id}", { id: "{id}" }],
  ])("%s %s is %s", (method, url, path, parameters) => {
    expect(ask(method, url)).toMatchObject({ type: "found", route: { path }, parameters });
  });

  it.each(["/v1/models/", "/v1/models/%E0%A4", "/beta/:ask", "/beta/x:as", "/beta/x%3Aask"])(
    "does not fit %s",
    (url) => {
      expect(ask("POST", url).type).toBe("none");
    },
  );

  it("comes after an exact one, whatever the method", () => {
    expect(ask("GET", "/v1/models/count")).toMatchObject({ type: "wrong-method", allow: "POST" });
    expect(ask("POST", "/v1/models/a")).toMatchObject({ type: "wrong-method", allow: "GET, HEAD, DELETE" });
  });
});

describe("a path of two faces", () => {
  it("goes to the one that recognises the request, else to the one that recognises none", () => {
    expect(ask("GET", "/v1/models", { "x-other": "1" })).toMatchObject({ route: { face: other } });
    expect(ask("GET", "/v1/models")).toMatchObject({ route: { face: usual } });
  });

  it("needs no sign where the path says it", () => {
    expect(ask("POST", "/beta/x:ask")).toMatchObject({ route: { face: other } });
  });
});

it("two parameters in a path are refused when the routes are made", () => {
  expect(() => createRouter([route("GET", "/{a}/{b}")])).toThrow(/at most one parameter/);
});
