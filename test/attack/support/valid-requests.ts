import type { Tree } from "./mutate.ts";

/** A request that the gateway answers, to begin an attack from. */
export interface ValidRequest {
  readonly path: string;
  readonly dialect: "openai" | "anthropic" | "gemini" | "ollama";
  readonly body: Tree;
}

const MODEL = "gpt-5.5";
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LOOK = { type: "object", properties: { at: { type: "string" } }, required: ["at"] };
const ANSWER = { type: "object", properties: { say: { type: "string" } }, required: ["say"] };
const JSON_STEP = '@sim say {"say":"yes"}';

const chat = (body: object, path = "/v1/chat/completions"): ValidRequest => ({
  path,
  dialect: "openai",
  body: { model: MODEL, ...body } as Tree,
});

const responses = (body: object, path = "/v1/responses"): ValidRequest => chat(body, path);

const messages = (body: object, path = "/v1/messages"): ValidRequest => ({
  path,
  dialect: "anthropic",
  body: { model: MODEL, max_tokens: 2000, ...body } as Tree,
});

const user = (content: unknown) => ({ role: "user", content });

const CHAT: readonly ValidRequest[] = [
  chat({ messages: [user("hello")] }),
  chat({
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: "system", content: "Be brief." },
      { role: "developer", content: [{ type: "text", text: "Be kind." }] },
      user([
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}`, detail: "high" } },
        { type: "file", file: { filename: "a.txt", file_data: "data:text/plain;base64,aGVsbG8gaGVsbG8=" } },
      ]),
    ],
    temperature: 0.5,
    top_p: 0.9,
    seed: 7,
    stop: ["END", "STOP"],
    max_completion_tokens: 500,
    reasoning_effort: "low",
    metadata: { a: "b" },
    user: "u",
  }),
  chat({
    messages: [
      user("look"),
      {
        role: "assistant",
        content: null,
        reasoning_content: "I should look.",
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "look", arguments: '{"at":"a"}' } },
          { id: "call_2", type: "function", function: { name: "look", arguments: '{"at":"b"}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: "saw a" },
      { role: "tool", tool_call_id: "call_2", content: [{ type: "text", text: "saw b" }] },
    ],
    tools: [{ type: "function", function: { name: "look", description: "looks", parameters: LOOK, strict: true } }],
    tool_choice: "auto",
    parallel_tool_calls: false,
  }),
  chat({
    stream: true,
    messages: [user('@sim call look {"at":"x"}')],
    tools: [{ type: "function", function: { name: "look", parameters: LOOK } }],
    tool_choice: { type: "function", function: { name: "look" } },
  }),
  chat({
    messages: [user(JSON_STEP)],
    response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema: ANSWER } },
  }),
  // What Cursor mixes: tools and blocks of other dialects, and bodies of Responses.
  chat({
    system: [{ type: "text", text: "Be brief." }],
    messages: [
      user([
        { type: "input_text", text: "look" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
      ]),
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "I look.", signature: "s" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: "t1", name: "look", input: { at: "a" } },
        ],
        tool_calls: [{ id: "t2", type: "custom", custom: { name: "patch", input: "free text" } }],
      },
      user([
        { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "saw" }], is_error: false },
        { type: "tool_result", tool_use_id: "t2", content: "done" },
        { type: "text", text: "go on" },
      ]),
    ],
    tools: [
      { name: "look", description: "looks", input_schema: LOOK },
      {
        type: "custom",
        custom: { name: "patch", format: { type: "grammar", grammar: { syntax: "lark", definition: "x" } } },
      },
      { type: "function", name: "flat", parameters: LOOK },
    ],
    tool_choice: { type: "auto" },
  }),
  chat({
    input: [
      { role: "user", content: [{ type: "input_text", text: "patch" }] },
      { type: "reasoning", summary: [] },
      { type: "custom_tool_call", call_id: "c1", name: "patch", input: "free text" },
      { type: "custom_tool_call_output", call_id: "c1", output: "done" },
      { type: "function_call", call_id: "c2", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "c2", output: "saw" },
    ],
    instructions: "Be brief.",
    reasoning: { effort: "low" },
    max_output_tokens: 100,
    tools: [{ type: "custom", name: "patch" }],
    stream: true,
  }),
  chat({ messages: [user("@sim think hm ;; say hi")], stream: true }, "/tags/v1/chat/completions"),
];

const RESPONSES: readonly ValidRequest[] = [
  responses({ input: "hello", instructions: "Be brief." }),
  responses({
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    input: [
      { type: "message", role: "developer", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "input_text", text: "look" },
          { type: "input_image", image_url: `data:image/png;base64,${PIXEL}`, detail: "high" },
          { type: "input_file", filename: "a.txt", file_data: "aGVsbG8gaGVsbG8=" },
        ],
      },
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "x" },
      { type: "function_call", id: "fc_1", call_id: "c1", name: "look", arguments: '{"at":"a"}', status: "completed" },
      { type: "function_call_output", call_id: "c1", output: [{ type: "input_text", text: "saw" }] },
      { type: "custom_tool_call", call_id: "c2", name: "exec", namespace: "functions", input: "text('x')" },
      { type: "custom_tool_call_output", call_id: "c2", output: "done" },
    ],
    tools: [
      { type: "function", name: "look", description: "looks", parameters: LOOK, strict: false },
      { type: "namespace", name: "functions", tools: [{ type: "custom", name: "exec", format: { type: "text" } }] },
      { type: "custom", name: "apply_patch", format: { type: "grammar", syntax: "lark", definition: "start: x" } },
      { type: "web_search" },
      { type: "tool_search", execution: "client", parameters: LOOK },
    ],
    tool_choice: "auto",
    reasoning: { effort: "low", summary: "auto" },
    parallel_tool_calls: true,
    max_output_tokens: 500,
    prompt_cache_key: "k",
    metadata: { a: "b" },
  }),
  responses({
    input: [
      { type: "additional_tools", role: "developer", tools: [{ type: "custom", name: "exec" }] },
      { role: "user", content: '@sim call exec {"input":"text(\'x\')"}' },
    ],
    stream: true,
    tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "custom", name: "exec" }] },
  }),
  responses({
    input: JSON_STEP,
    text: { format: { type: "json_schema", name: "answer", schema: ANSWER, strict: true }, verbosity: "low" },
    previous_response_id: null,
  }),
  responses({ input: [{ role: "user", content: "hello" }] }, "/v1/responses/input_tokens"),
];

const FULL_MESSAGES = {
  system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
  messages: [
    user([
      { type: "text", text: "look" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
      { type: "document", title: "d", source: { type: "text", media_type: "text/plain", data: "d" } },
      { type: "search_result", title: "t", source: "s", content: [{ type: "text", text: "r" }] },
    ]),
    { role: "system", content: "From here on be kind." },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "I look.", signature: "" },
        { type: "redacted_thinking", data: "x" },
        { type: "text", text: "I look." },
        { type: "tool_use", id: "t1", name: "look", input: { at: "a" } },
        { type: "tool_use", id: "t2", name: "look", input: {} },
      ],
    },
    user([
      { type: "tool_result", tool_use_id: "t1", content: "saw", is_error: false },
      { type: "tool_result", tool_use_id: "t2", content: [{ type: "text", text: "saw" }] },
      { type: "text", text: "<system-reminder>r</system-reminder>" },
    ]),
  ],
  tools: [
    { name: "look", description: "looks", input_schema: LOOK, cache_control: { type: "ephemeral" } },
    { type: "bash_20250124", name: "bash" },
    { type: "custom", name: "later", input_schema: LOOK, defer_loading: true },
  ],
  tool_choice: { type: "auto", disable_parallel_tool_use: true },
  thinking: { type: "enabled", budget_tokens: 1024, display: "omitted" },
  metadata: { user_id: "u" },
};

const MESSAGES: readonly ValidRequest[] = [
  messages({ messages: [user("hello")] }),
  messages({ ...FULL_MESSAGES, stream: true, stop_sequences: ["END"], temperature: 1, top_k: 5 }),
  messages(FULL_MESSAGES, "/v1/messages/count_tokens"),
  messages({
    messages: [user(JSON_STEP)],
    output_config: { effort: "low", format: { type: "json_schema", schema: ANSWER } },
    thinking: { type: "adaptive" },
  }),
  messages({
    messages: [user('@sim call look {"at":"x"}')],
    tools: [{ name: "look", input_schema: LOOK }],
    tool_choice: { type: "tool", name: "look" },
    stream: true,
  }),
];

const gemini = (call: string, body: object): ValidRequest => ({
  path: `/v1beta/models/${MODEL}:${call}`,
  dialect: "gemini",
  body: body as Tree,
});

const FULL_CONTENTS = {
  systemInstruction: { parts: [{ text: "Be brief." }] },
  contents: [
    { role: "user", parts: [{ text: "look" }, { inlineData: { mimeType: "image/png", data: PIXEL } }] },
    {
      role: "model",
      parts: [
        { text: "I look.", thought: true, thoughtSignature: "x" },
        { functionCall: { id: "f1", name: "look", args: { at: "a" } } },
        { functionCall: { name: "look", args: { at: "b" } } },
      ],
    },
    {
      role: "user",
      parts: [
        { functionResponse: { id: "f1", name: "look", response: { output: "saw a" } } },
        { functionResponse: { name: "look", response: { output: "saw b" } } },
      ],
    },
  ],
  tools: [{ functionDeclarations: [{ name: "look", description: "looks", parametersJsonSchema: LOOK }] }],
  toolConfig: { functionCallingConfig: { mode: "AUTO" } },
  generationConfig: {
    temperature: 0.5,
    topK: 5,
    maxOutputTokens: 500,
    stopSequences: ["END"],
    thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 },
  },
  safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
};

const GEMINI: readonly ValidRequest[] = [
  gemini("generateContent", { contents: [{ parts: [{ text: "hello" }] }] }),
  gemini("generateContent", FULL_CONTENTS),
  gemini("streamGenerateContent?alt=sse", FULL_CONTENTS),
  gemini("streamGenerateContent", FULL_CONTENTS),
  gemini("countTokens", { generateContentRequest: FULL_CONTENTS }),
  gemini("generateContent", {
    contents: [{ role: "user", parts: [{ text: JSON_STEP }] }],
    generationConfig: { responseMimeType: "application/json", responseJsonSchema: ANSWER },
  }),
];

const ollama = (path: string, body: object): ValidRequest => ({
  path,
  dialect: "ollama",
  body: { model: MODEL, ...body } as Tree,
});

const OLLAMA: readonly ValidRequest[] = [
  ollama("/api/chat", { messages: [user("hello")], stream: false, keep_alive: "5m" }),
  ollama("/api/chat", {
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "look", images: [PIXEL] },
      {
        role: "assistant",
        content: "",
        thinking: "I look.",
        tool_calls: [{ id: "t1", function: { name: "look", arguments: { at: "a" } } }],
      },
      { role: "tool", content: "saw a", tool_name: "look", tool_call_id: "t1" },
    ],
    tools: [{ type: "function", function: { name: "look", description: "looks", parameters: LOOK } }],
    think: "low",
    options: { num_predict: 500, stop: ["END"], temperature: 0.5, num_ctx: 4096 },
  }),
  ollama("/api/chat", { messages: [user(JSON_STEP)], format: ANSWER }),
  ollama("/api/chat", { messages: [], keep_alive: 0 }),
  ollama("/api/generate", { prompt: "hello", system: "Be brief.", images: [PIXEL], raw: true }),
  ollama("/api/show", {}),
];

export const VALID_REQUESTS: readonly ValidRequest[] = [...CHAT, ...RESPONSES, ...MESSAGES, ...GEMINI, ...OLLAMA];

/** Messages that a WebSocket of Responses answers. */
export const VALID_MESSAGES: readonly Tree[] = RESPONSES.filter(({ path }) => path === "/v1/responses").map(
  ({ body }) => ({ type: "response.create", ...(body as Readonly<Record<string, Tree>>) }),
);
