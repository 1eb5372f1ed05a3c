import { expect, it } from "vitest";
import type { ModelInfo } from "../../src/core/driver.ts";
import { KEY, startTestGateway } from "./support/gateway.ts";

const IDS = ["a", "b", "c/d", "e", "f"];

const model = (id: string): ModelInfo => ({
  id,
  displayName: id,
  aliases: [],
  contextTokens: 1000,
  supportsImages: false,
  isThinking: false,
  efforts: [],
});

async function setUp() {
  const gateway = await startTestGateway();
  const models = IDS.map(model);
  gateway.engine.listModels = () => Promise.resolve(models);
  return async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${KEY}`, ...headers } });
    const body = (await response.json()) as Record<string, unknown>;
    return { ...body, status: response.status } as Record<string, unknown>;
  };
}

const idsIn = (list: unknown): string[] => (list as { id: string }[]).map(({ id }) => id);

it("OpenAI: all at once, or by limit and after", async () => {
  const get = await setUp();
  const whole = await get("/v1/models");
  expect(idsIn(whole["data"])).toEqual(IDS);
  expect(whole).not.toHaveProperty("has_more");
  const page = await get("/v1/models?limit=2&after=b");
  expect([idsIn(page["data"]), page]).toMatchObject([["c/d", "e"], { first_id: "c/d", last_id: "e", has_more: true }]);
  expect(await get("/v1/models?limit=2&after=e")).toMatchObject({ last_id: "f", has_more: false });
  for (const query of ["limit=0", "limit=x", "limit=-1", "after=z"]) {
    expect(await get(`/v1/models?${query}`)).toMatchObject({ status: 400 });
  }
});

it("Anthropic: after_id, before_id and limit", async () => {
  const get = await setUp();
  const ask = (query: string) => get(`/v1/models?${query}`, { "anthropic-version": "2023-06-01" });
  expect(await ask("")).toMatchObject({ first_id: "a", last_id: "f", has_more: false });
  expect(await ask("limit=2")).toMatchObject({ first_id: "a", last_id: "b", has_more: true });
  expect(await ask("limit=2&after_id=b")).toMatchObject({ first_id: "c/d", last_id: "e", has_more: true });
  expect(await ask("limit=2&before_id=e")).toMatchObject({ first_id: "b", last_id: "c/d", has_more: true });
  expect(await ask("limit=2&before_id=b")).toMatchObject({ first_id: "a", last_id: "a", has_more: false });
  expect(await ask("before_id=a")).toMatchObject({ data: [], first_id: null, last_id: null });
  for (const query of ["limit=0", "limit=1001", "after_id=z", "before_id=z", "after_id=a&before_id=b"]) {
    expect(await ask(query)).toMatchObject({ status: 400, type: "error" });
  }
});

it("Gemini: pageSize and pageToken", async () => {
  const get = await setUp();
  const names: string[] = [];
  let token: unknown = "";
  for (let pages = 0; token !== undefined && pages < 9; pages++) {
    const page = await get(`/v1beta/models?pageSize=2&pageToken=${String(token)}`);
    names.push(...(page["models"] as { name: string }[]).map(({ name }) => name));
    token = page["nextPageToken"];
  }
  expect(names).toEqual(IDS.map((id) => `models/${id}`));
  expect(await get("/v1beta/models?pageSize=0")).not.toHaveProperty("nextPageToken");
  expect(await get("/v1beta/models/c/d")).toMatchObject({ name: "models/c/d" });
  for (const query of ["pageSize=x", "pageToken=bm90aGluZw"]) {
    expect(await get(`/v1beta/models?${query}`)).toMatchObject({ status: 400, error: { status: "INVALID_ARGUMENT" } });
  }
});
