import type { Asker } from "./asker.ts";
import type { Prompt, Scenario } from "./scenarios.ts";

type Scenarios = (prompt: Prompt, isOwn: boolean) => readonly Scenario[];

const one = (name: string, run: Scenario["run"]): Scenario => ({ name, run });

const refused = (name: string, run: Scenario["run"]): Scenario => ({ name, run, isRefused: true });

const TOOL = { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } };
const CALL = ["call look", "Call the tool `look`."] as const;
const SAY = ["say hi", "Say hi."] as const;

/** What every dialect refuses: each at its path, with a body that it takes. */
const refusals = (isOwn: boolean, path: string, key: string, body: object): readonly Scenario[] => [
  refused("a wrong key", (asker) =>
    asker.call(path, "", { body, headers: { [key]: key === "authorization" ? "Bearer no" : "no" } }),
  ),
  refused("no JSON", (asker) => asker.call(path, "", { body: "{" })),
  refused("a wrong value", (asker) => asker.call(path, "", { body: { ...body, model: 5, contents: 5 } })),
  refused("an empty body", (asker) => asker.call(path, "", { body: {} })),
  refused("a wrong method", (asker) => asker.call(path, "", { method: "DELETE" })),
  refused("another content type", (asker) =>
    asker.call(path, "", { body: "x", headers: { "content-type": "text/plain" } }),
  ),
  refused("an unknown path", (asker) => asker.call(`${path}/no/such`, "", { body })),
  ...(isOwn
    ? [refused("too many bytes", (asker) => asker.call(path, "", { body: " ".repeat(33 * 1024 * 1024) }))]
    : []),
];

const models = (path: string, list: string, model: string, pages: readonly string[]): readonly Scenario[] => [
  one("the models", (asker) => asker.call(path, list, { method: "GET" })),
  one("one model", async (asker) => {
    const { json } = await asker.call(path, list, { method: "GET" });
    const { data, models: named } = json as Record<"data" | "models", { id?: string; name?: string }[] | undefined>;
    const [first] = data ?? named ?? [];
    await asker.call(`${path}/${first?.id ?? first?.name?.replace("models/", "")}`, model, { method: "GET" });
  }),
  refused("a model that is unknown", (asker) => asker.call(`${path}/no-such-model`, model, { method: "GET" })),
  ...pages.map((page) =>
    (page.endsWith("no-such") ? refused : one)(`the models, ${page}`, (asker) =>
      asker.call(`${path}?${page}`, list, { method: "GET" }),
    ),
  ),
];

const chat: Scenarios = (prompt, isOwn) => {
  const path = "/v1/chat/completions";
  const messages = (script: string, words: string) => [{ role: "user", content: prompt(script, words) }];
  const both = (name: string, body: (asker: Asker) => object): readonly Scenario[] => [
    one(`${name}, whole`, (asker) => asker.call(path, "ChatAnswer", { body: { model: asker.model, ...body(asker) } })),
    one(`${name}, streamed`, (asker) =>
      asker.stream(path, { model: asker.model, stream: true, ...body(asker) }, "ChatChunk"),
    ),
  ];
  const tools = [{ type: "function", function: TOOL }];
  const custom = [{ type: "custom", custom: { name: "look" } }];
  return [
    ...refusals(isOwn, path, "authorization", { model: "auto", messages: messages(...SAY) }),
    ...models("/v1/models", "OpenAiModelList", "OpenAiModel", isOwn ? ["limit=1", "after=no-such"] : []),
    ...both("no figures asked for", () => ({ messages: messages(...SAY) })),
    ...both("a forced call", () => ({
      messages: messages(...CALL),
      tools,
      tool_choice: { type: "function", function: { name: "look" } },
    })),
    ...both("a call that must be", () => ({ messages: messages(...CALL), tools, tool_choice: "required" })),
    ...both("a custom tool", () => ({ messages: messages('call look {"input":"raw"}', CALL[1]), tools: custom })),
    ...both("a JSON object", () => ({
      messages: messages('say {"a":1}', "Answer with a JSON object."),
      response_format: { type: "json_object" },
    })),
    ...both("what has no effect", () => ({
      messages: messages(...SAY),
      temperature: 0.2,
      service_tier: "priority",
      verbosity: "low",
      store: true,
      metadata: { a: "b" },
    })),
  ];
};

const responses: Scenarios = (prompt, isOwn) => {
  const path = "/v1/responses";
  const both = (name: string, script: string, words: string, body: object = {}): readonly Scenario[] => {
    const asked = { store: false, input: prompt(script, words), ...body };
    return [
      one(`${name}, whole`, (asker) => asker.call(path, "ResponsesAnswer", { body: { model: asker.model, ...asked } })),
      one(`${name}, streamed`, (asker) =>
        asker.stream(path, { model: asker.model, stream: true, ...asked }, "ResponsesEvent"),
      ),
    ];
  };
  const tool = { type: "function", ...TOOL };
  const stored = async (asker: Asker, body: Readonly<Record<string, unknown>> = {}) => {
    const asked = { model: asker.model, input: prompt(...SAY), store: true, ...body };
    const { json } = await asker.call(path, "ResponsesAnswer", { body: asked });
    const { id } = (json ?? {}) as { readonly id?: string };
    if (id === undefined && !body["previous_response_id"]) asker.misses.push("nothing was stored");
    return id;
  };
  const conversation = [
    { role: "user", content: [{ type: "input_text", text: "hi" }] },
    { role: "assistant", content: "hello" },
    { type: "reasoning", id: "rs_1", summary: [] },
    { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: "seen" },
    { type: "custom_tool_call", call_id: "c2", name: "cut", input: "x" },
    { type: "custom_tool_call_output", call_id: "c2", output: "done" },
    { role: "developer", content: "Be brief." },
    { role: "user", content: prompt(...SAY) },
  ];
  const create = (asker: Asker, script: string, words: string, more: object = {}) => ({
    type: "response.create",
    model: asker.model,
    input: prompt(script, words),
    store: false,
    ...more,
  });
  const talk = (name: string, messages: (asker: Asker) => Parameters<Asker["talk"]>[1]) =>
    one(`a WebSocket: ${name}`, (asker) => asker.talk(path, messages(asker), "ResponsesMessage"));
  return [
    ...refusals(isOwn, path, "authorization", { model: "auto", input: prompt(...SAY) }),
    one("token counts", (asker) =>
      asker.call(`${path}/input_tokens`, "ResponsesTokens", { body: { model: asker.model, input: "hi" } }),
    ),
    ...both("a forced call", ...CALL, { tools: [tool], tool_choice: { type: "function", name: "look" } }),
    ...both("a call that must be", ...CALL, { tools: [{ ...tool, strict: true }], tool_choice: "required" }),
    ...both("a custom tool", 'call look {"input":"raw"}', CALL[1], { tools: [{ type: "custom", name: "look" }] }),
    ...both("a tool of a namespace", ...CALL, {
      tools: [{ type: "namespace", name: "eyes", description: "See.", tools: [tool] }],
    }),
    ...both("a format without strict", 'say {"a":1}', "Give an `a`.", {
      text: { format: { type: "json_schema", name: "a", schema: { type: "object" } } },
    }),
    ...both("what has no effect", ...SAY, {
      ...{ temperature: 0.2, top_p: 0.5, service_tier: "priority", max_tool_calls: 3, truncation: "auto", user: "u" },
      ...{ text: { verbosity: "low" }, reasoning: { effort: "low", summary: "detailed" }, metadata: { a: "b" } },
      ...{ prompt_cache_key: "k", safety_identifier: "s", include: ["message.output_text.logprobs"] },
    }),
    ...both("sealed thinking", "think a ;; say b", SAY[1], {
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "high", summary: "auto" },
    }),
    refused("a stored answer, read, deleted and no more", async (asker) => {
      const id = await stored(asker);
      await asker.call(`${path}/${id}`, "ResponsesAnswer", { method: "GET" });
      await asker.call(`${path}/${id}/input_items`, "ResponsesInputItems", { method: "GET" });
      await asker.call(`${path}/${id}`, "ResponsesDeleted", { method: "DELETE" });
      await asker.call(`${path}/${id}`, "ResponsesAnswer", { method: "GET" });
    }),
    one("the items of a conversation", async (asker) => {
      const tools = [tool, { type: "custom", name: "cut" }];
      const id = await stored(asker, { input: conversation, tools });
      await asker.call(`${path}/${id}/input_items?order=asc`, "ResponsesInputItems", { method: "GET" });
    }),
    one("a continuation", async (asker) => void (await stored(asker, { previous_response_id: await stored(asker) }))),
    refused("a continuation of nothing", (asker) => stored(asker, { previous_response_id: "resp_0" })),
    talk("two answers", (asker) => [
      () => create(asker, ...SAY),
      (events) => create(asker, ...SAY, { previous_response_id: events.at(-1)?.response?.id }),
    ]),
    talk("a call", (asker) => [() => create(asker, ...CALL, { tools: [tool] })]),
    talk("a wrong value", (asker) => [() => create(asker, ...SAY, { temperature: "hot" })]),
    ...(isOwn
      ? [
          talk("a failure in the answer", (asker) => [() => create(asker, "say a ;; fail unavailable busy", "")]),
          talk("a failure at once", (asker) => [
            () => create(asker, "fail resource_exhausted ERROR_RATE_LIMITED retry=9 x", ""),
          ]),
          talk("prepared", (asker) => [() => create(asker, ...SAY, { generate: false })]),
        ]
      : []),
    one("a WebSocket: after a failed continuation its answer is forgotten", async (asker) => {
      const next = (events: readonly { readonly response?: { readonly id: string } }[]) => ({
        previous_response_id: events.find(({ response }) => response)?.response?.id,
      });
      const wrong = { input: [{ type: "function_call_output", call_id: "no-such", output: "x" }] };
      const events = await asker.talk(
        path,
        [
          () => create(asker, ...SAY),
          (before) => create(asker, ...SAY, { ...next(before), ...wrong }),
          (before) => create(asker, ...SAY, next(before)),
        ],
        "ResponsesMessage",
      );
      const { error } = events.at(-1) as { readonly error?: { readonly code: string } };
      if (error?.code !== "previous_response_not_found")
        asker.misses.push("it goes on from an answer that is forgotten");
    }),
  ];
};

const messages: Scenarios = (prompt, isOwn) => {
  const path = "/v1/messages";
  const asking = (script: string, words: string) => [{ role: "user", content: prompt(script, words) }];
  const both = (name: string, script: string, words: string, more: object): readonly Scenario[] => {
    const body = { max_tokens: 2048, messages: asking(script, words), ...more };
    return [
      one(`${name}, whole`, (asker) => asker.call(path, "MessagesAnswer", { body: { model: asker.model, ...body } })),
      one(`${name}, streamed`, (asker) =>
        asker.stream(path, { model: asker.model, stream: true, ...body }, "MessagesEvent"),
      ),
    ];
  };
  const tools = [{ name: "look", input_schema: TOOL.parameters }];
  return [
    ...refusals(isOwn, path, "x-api-key", { model: "auto", max_tokens: 99, messages: asking(...SAY) }),
    ...models("/v1/models", "AnthropicModelList", "AnthropicModel", isOwn ? ["limit=1", "after_id=no-such"] : []),
    one("token counts", (asker) =>
      asker.call(`${path}/count_tokens`, "MessagesTokens", { body: { model: asker.model, messages: asking(...SAY) } }),
    ),
    ...both("a forced call", ...CALL, { tools, tool_choice: { type: "tool", name: "look" } }),
    ...both("a call that must be", ...CALL, { tools, tool_choice: { type: "any" } }),
    ...both("thinking with a budget", "think a ;; say b", "Think, then say b.", {
      thinking: { type: "enabled", budget_tokens: 1024 },
    }),
    ...both("thinking that is not shown", "think a ;; say b", "Think, then say b.", {
      thinking: { type: "adaptive", display: "omitted" },
    }),
    ...both("what has no effect", ...SAY, { service_tier: "auto", metadata: { user_id: "u" }, temperature: 0.2 }),
  ];
};

const gemini: Scenarios = (prompt, isOwn) => {
  const asking = (script: string, words: string) => [{ role: "user", parts: [{ text: prompt(script, words) }] }];
  const at = (asker: Asker, method: string) => `/v1beta/models/${asker.model}:${method}`;
  const both = (name: string, script: string, words: string, more: object): readonly Scenario[] => {
    const body = { contents: asking(script, words), ...more };
    return [
      one(`${name}, whole`, (asker) => asker.call(at(asker, "generateContent"), "GeminiAnswer", { body })),
      one(`${name}, streamed`, (asker) =>
        asker.stream(at(asker, "streamGenerateContent?alt=sse"), body, "GeminiAnswer"),
      ),
    ];
  };
  const tools = [{ functionDeclarations: [{ name: "look", parametersJsonSchema: TOOL.parameters }] }];
  return [
    ...refusals(isOwn, "/v1beta/models/auto:generateContent", "x-goog-api-key", { contents: asking(...SAY) }),
    ...models("/v1beta/models", "GeminiModelList", "GeminiModel", isOwn ? ["pageSize=1", "pageToken=no-such"] : []),
    one("token counts", (asker) =>
      asker.call(at(asker, "countTokens"), "GeminiTokens", { body: { contents: asking(...SAY) } }),
    ),
    refused("a method that is unknown", (asker) => asker.call(at(asker, "embedContent"), "", { body: {} })),
    one("an array of chunks", (asker) =>
      asker.stream(
        at(asker, "streamGenerateContent"),
        { contents: asking(...SAY) },
        "GeminiAnswer",
        "application/json",
      ),
    ),
    ...both("a forced call", ...CALL, { tools, toolConfig: { functionCallingConfig: { mode: "ANY" } } }),
    ...both("a JSON object", 'say {"a":1}', "Answer with a JSON object.", {
      generationConfig: { responseMimeType: "application/json" },
    }),
    ...both("no thoughts", "think a ;; say b", "Say b.", {
      generationConfig: { thinkingConfig: { includeThoughts: false } },
    }),
    ...both("what has no effect", ...SAY, { safetySettings: [], generationConfig: { temperature: 0.2, topK: 3 } }),
  ];
};

const ollama: Scenarios = (prompt, isOwn) => {
  const both = (name: string, path: string, type: string, body: object): readonly Scenario[] => [
    one(`${name}, whole`, (asker) => asker.call(path, type, { body: { model: asker.model, stream: false, ...body } })),
    one(`${name}, streamed`, (asker) => asker.stream(path, { model: asker.model, ...body }, type)),
  ];
  return [
    ...refusals(isOwn, "/api/chat", "authorization", {
      model: "auto",
      messages: [{ role: "user", content: prompt(...SAY) }],
    }),
    ...both("text", "/api/generate", "OllamaTextLine", { prompt: prompt(...SAY) }),
    ...both("thinking", "/api/generate", "OllamaTextLine", {
      prompt: prompt("think a ;; say b", "Think."),
      think: true,
    }),
    ...both("a load", "/api/generate", "OllamaTextLine", {}),
    ...both("a load", "/api/chat", "OllamaChatLine", { messages: [] }),
    ...both("no thinking", "/api/chat", "OllamaChatLine", {
      messages: [{ role: "user", content: prompt("think a ;; say b", "Say b.") }],
      think: false,
    }),
    one("the models", (asker) => asker.call("/api/tags", "OllamaModelList", { method: "GET" })),
    one("the models that run", (asker) => asker.call("/api/ps", "OllamaModelList", { method: "GET" })),
    one("one model", (asker) => asker.call("/api/show", "OllamaModel", { body: { model: asker.model } })),
    refused("a model that is unknown", (asker) =>
      asker.call("/api/show", "OllamaModel", { body: { model: "no-such-model" } }),
    ),
    one("the version", (asker) => asker.call("/api/version", "OllamaVersion", { method: "GET" })),
  ];
};

/** What only one dialect has, by the name of its adapter. */
export const DIALECT_SCENARIOS: Readonly<Record<string, Scenarios>> = {
  "OpenAI Chat Completions": chat,
  "OpenAI Responses": responses,
  "Anthropic Messages": messages,
  Gemini: gemini,
  Ollama: ollama,
};
