/** An agent's request in each dialect: 30 tools, 200 messages, about 40 KB. */

const TOOLS = 30;
/** Each has four messages: a question, a call, its result, an answer. */
const TURNS = 50;
const PAD = 14;

const words = (count: number, seed: number): string =>
  Array.from({ length: count }, (_, n) => WORDS[(seed + n) % WORDS.length]).join(" ");
const WORDS = ["read", "the", "file", "and", "tell", "what", "changes", "in", "line", "naïve", "of", "it"];

const schemaOf = (n: number) => ({
  type: "object",
  properties: {
    path: { type: "string", description: words(5, n) },
    limit: { type: "integer" },
    mode: { type: "string", enum: ["a", "b"] },
  },
  required: ["path"],
});

const tools = Array.from({ length: TOOLS }, (_, n) => ({
  name: `tool_${n}`,
  description: words(PAD, n),
  schema: schemaOf(n),
}));
const turns = Array.from({ length: TURNS }, (_, n) => ({
  id: `call_${n}`,
  name: `tool_${n % TOOLS}`,
  args: { path: `src/file-${n}.ts`, limit: n },
  question: words(PAD, n),
  result: words(2 * PAD, n),
  answer: words(PAD, n + 3),
}));
const LAST = "and now?";

export const LARGE_REQUESTS = {
  "Chat Completions": JSON.stringify({
    model: "m",
    stream: true,
    messages: [
      ...turns.flatMap(({ id, name, args, question, result, answer }) => [
        { role: "user", content: question },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }],
        },
        { role: "tool", tool_call_id: id, content: result },
        { role: "assistant", content: answer },
      ]),
      { role: "user", content: LAST },
    ],
    tools: tools.map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    })),
  }),
  Responses: JSON.stringify({
    model: "m",
    stream: true,
    store: false,
    input: [
      ...turns.flatMap(({ id, name, args, question, result, answer }) => [
        { role: "user", content: [{ type: "input_text", text: question }] },
        { type: "function_call", call_id: id, name, arguments: JSON.stringify(args) },
        { type: "function_call_output", call_id: id, output: result },
        { role: "assistant", content: [{ type: "output_text", text: answer }] },
      ]),
      { role: "user", content: [{ type: "input_text", text: LAST }] },
    ],
    tools: tools.map(({ name, description, schema }) => ({ type: "function", name, description, parameters: schema })),
  }),
  Messages: JSON.stringify({
    model: "m",
    stream: true,
    max_tokens: 32_000,
    messages: [
      ...turns.flatMap(({ id, name, args, question, result, answer }) => [
        { role: "user", content: [{ type: "text", text: question }] },
        { role: "assistant", content: [{ type: "tool_use", id, name, input: args }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] },
        { role: "assistant", content: [{ type: "text", text: answer }] },
      ]),
      { role: "user", content: [{ type: "text", text: LAST }] },
    ],
    tools: tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
  }),
} as const;
