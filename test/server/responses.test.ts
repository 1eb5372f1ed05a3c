import { expect, it } from "vitest";
import { KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";

const ask = (gateway: TestGateway, path: string, init: RequestInit = {}) =>
  fetch(`${gateway.url}/v1/responses${path}`, {
    ...init,
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json", ...init.headers },
  });

it.each<[string, string, RequestInit, number, object]>([
  ["bad JSON", "", { method: "POST", body: "{" }, 400, { code: "invalid_json" }],
  ["a wrong type", "", { method: "POST", body: '{"model":"m","input":7}' }, 400, { param: "input" }],
  ["nothing asked", "", { method: "POST", body: '{"model":"m","input":[]}' }, 400, { param: "input" }],
  ["too large a body", "", { method: "POST", body: "x".repeat(2000) }, 413, { code: "body_too_large" }],
  [
    "an unknown answer to go on from",
    "",
    { method: "POST", body: '{"model":"m","input":"a","previous_response_id":"resp_x"}' },
    400,
    { code: "previous_response_not_found", param: "previous_response_id" },
  ],
  ["an unknown answer", "/resp_x", {}, 404, { code: "response_not_found" }],
  ["the input of an unknown answer", "/resp_x/input_items", {}, 404, { code: "response_not_found" }],
  ["an unknown answer to delete", "/resp_x", { method: "DELETE" }, 404, { code: "response_not_found" }],
  ["a kept answer as a stream", "/resp_x?stream=true", {}, 400, { param: "stream" }],
  ["a wrong method", "/resp_x", { method: "PUT", body: "{}" }, 405, { code: "method_not_allowed" }],
  ["a wrong key", "/resp_x", { headers: { authorization: "Bearer no" } }, 401, { code: "invalid_api_key" }],
])("%s is answered in the dialect", async (_, path, init, status, error) => {
  const gateway = await startTestGateway({ limits: { bodyBytes: 1000 } });
  const answer = await ask(gateway, path, init);
  expect(answer.status).toBe(status);
  const body = (await answer.json()) as { readonly error: object };
  expect(body.error).toMatchObject({ message: expect.any(String), type: expect.any(String), ...error });
  expect(gateway.engine.answers).toHaveLength(0);
});
