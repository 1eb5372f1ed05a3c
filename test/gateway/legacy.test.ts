import { expect, it } from "vitest";
import { KEY, setUpGateway } from "./support/gateway-process.ts";

it.each(["chat", "unified"])("the older protocols have the models of the account: %s", async (legacyCall) => {
  const { start } = await setUpGateway({ legacy: "on" }, { EXCURSOR_LEGACY_CALL: legacyCall });
  const { client, url } = await start("--driver", "cursor-legacy");
  const ask = async (model: string, effort: "high" | null = null) => {
    const messages = [{ role: "user" as const, content: "@sim say {{model}}" }];
    const asked = client.chat.completions.create({ model, messages, reasoning_effort: effort });
    const { data, response } = await asked.withResponse();
    return [data.choices[0]?.message.content, response.headers.get("x-excursor-ignored")];
  };
  expect(await ask("opus-high-thinking")).toEqual(["claude-opus-4-8-thinking-high", null]);
  expect(await ask("sonnet[max]")).toEqual(["claude-sonnet-5-thinking-medium max_mode=true", null]);
  expect(await ask("gpt-5.5", "high")).toEqual(["gpt-5.5-high", null]);
  expect(await ask("auto", "high")).toEqual(["default", "reasoning_effort"]);
  const named = await fetch(`${url}/v1/models/opus-high-thinking`, { headers: { authorization: `Bearer ${KEY}` } });
  expect(await named.json()).toMatchObject({ id: "opus-high-thinking", context_length: 200_000 });
});
