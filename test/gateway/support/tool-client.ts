import type OpenAI from "openai";

export type Messages = OpenAI.ChatCompletionMessageParam[];
export type Answer = OpenAI.ChatCompletionMessage;

/** `look {at}` gives back `saw <at>`. */
export const TOOLS: OpenAI.ChatCompletionTool[] = [
  {
    type: "function",
    function: {
      name: "look",
      description: "looks",
      parameters: { type: "object", properties: { at: { type: "string" } } },
    },
  },
];

/** The calls of an answer, with what each looks at. */
export const callsOf = ({ tool_calls }: Answer): { readonly id: string; readonly at: string }[] =>
  (tool_calls ?? [])
    .filter((call) => call.type === "function")
    .map(({ id, function: { arguments: args } }) => ({ id, at: String(JSON.parse(args).at) }));

/** What a client sends for the calls of an answer. */
export const answersTo = (answer: Answer): Messages =>
  callsOf(answer).map(({ id, at }) => ({ role: "tool", tool_call_id: id, content: `saw ${at}` }));

/** Asks, does what it is asked for, and goes on until there is nothing more to do. */
export async function converse(client: OpenAI, opening: Messages): Promise<{ messages: Messages; said: string[] }> {
  const messages = [...opening];
  const said: string[] = [];
  for (;;) {
    const { choices } = await client.chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS });
    const answer = choices[0]?.message;
    if (!answer) throw new Error("no answer");
    messages.push(answer, ...answersTo(answer));
    said.push(answer.content ?? "");
    if (callsOf(answer).length === 0) return { messages, said };
  }
}
