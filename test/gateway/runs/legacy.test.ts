import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import {
  StreamUnifiedChatRequestWithToolsSchema,
  ThinkingLevel,
} from "../../../src/gen/aiserver/v1/unified_chat_pb.ts";
import { KEY, setUpGateway } from "../support/gateway-process.ts";

it.each(["chat", "unified"])("the older protocols have the models of the account: %s", async (legacyCall) => {
  const { open } = await setUpGateway({ legacy: "on" }, { EXCURSOR_LEGACY_CALL: legacyCall });
  const { client, url } = await open("--driver", "cursor-legacy");
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

it("the IDE's chat is told how hard the model shall think", async () => {
  const { open, trace } = await setUpGateway({ legacy: "on" });
  const { client } = await open("--driver", "cursor-legacy");
  const levelOf = async (model: string, effort: "none" | "low" | "medium" | "high" | null = null) => {
    trace.length = 0;
    const messages = [{ role: "user" as const, content: "@sim say hi" }];
    await client.chat.completions.create({ model, messages, reasoning_effort: effort });
    const asked = trace.find(({ kind }) => kind === "streamUnifiedChatRequest")?.message as JsonValue;
    const { request } = fromJson(StreamUnifiedChatRequestWithToolsSchema, asked);
    return request.case === "streamUnifiedChatRequest" ? request.value.thinkingLevel : undefined;
  };
  expect(await levelOf("opus-high-thinking")).toBe(ThinkingLevel.HIGH);
  expect(await levelOf("sonnet", "medium")).toBe(ThinkingLevel.MEDIUM);
  expect(await levelOf("gpt-5.5", "low")).toBe(ThinkingLevel.MEDIUM);
  expect(await levelOf("gpt-5.5", "high")).toBe(ThinkingLevel.HIGH);
  expect(await levelOf("auto", "high")).toBeUndefined();
});
