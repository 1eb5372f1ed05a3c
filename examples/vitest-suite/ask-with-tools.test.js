import { createGateway } from "excursor";
import { createSimulator } from "excursor/simulator";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { askWithTools } from "./ask-with-tools.js";

// The script of each answer is in the prompt, so a test needs no network and no recorded answers.
const simulator = createSimulator();
let gateway;
let client;

beforeAll(async () => {
  await simulator.start();
  const settings = { upstream: simulator.url, token: "any", state: "off" };
  gateway = await createGateway({ settings, environment: {} }).start();
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
});

afterAll(async () => {
  await gateway.stop();
  await simulator.stop();
});

it("gives the model the result of its tool", async () => {
  const asked = [];
  const tools = {
    weather(args) {
      asked.push(args);
      return "rain";
    },
  };
  const prompt = '@sim call weather {"city":"Oslo"} ;; say In Oslo: {{result}}.';
  expect(await askWithTools(client, prompt, tools)).toBe("In Oslo: rain.");
  expect(asked).toEqual([{ city: "Oslo" }]);
  expect(simulator.stats().openRuns).toBe(0);
});

it("reports an error of the model's provider", async () => {
  await expect(askWithTools(client, "@sim fail resource_exhausted ERROR_RATE_LIMITED", {})).rejects.toMatchObject({
    status: 429,
  });
});
