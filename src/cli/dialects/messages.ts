import { type ClientQuestion, NO_PARAMETERS, type QuestionFormat, TOOL_DESCRIPTION } from "./client-question.ts";

interface StreamedEvent {
  readonly type?: string;
  readonly content_block?: { readonly type: string; readonly id?: string; readonly name?: string };
  readonly delta?: { readonly text?: string; readonly thinking?: string; readonly partial_json?: string };
}

const MAX_TOKENS = 4096;

export const messages: QuestionFormat = {
  title: "Anthropic Messages",
  path: () => "/v1/messages",
  body: (question) => ({
    model: question.model,
    max_tokens: MAX_TOKENS,
    messages: [{ role: "user", content: contentOf(question) }, ...resultsOf(question)],
    stream: true,
    ...(question.tool !== undefined && {
      tools: [{ name: question.tool, description: TOOL_DESCRIPTION, input_schema: NO_PARAMETERS }],
    }),
    ...(question.wantsThinking && { thinking: { type: "adaptive" }, output_config: { effort: "high" } }),
  }),
  read(event) {
    const { content_block: block, delta } = event as StreamedEvent;
    if (block?.type === "tool_use") return [{ call: { id: block.id ?? "", name: block.name ?? "" } }];
    return delta ? [{ text: delta.text, thinking: delta.thinking, args: delta.partial_json }] : [];
  },
  isLast: (event) => (event as StreamedEvent).type === "message_stop",
};

const contentOf = ({ prompt, image }: ClientQuestion) => [
  { type: "text", text: prompt },
  ...(image === undefined ? [] : [{ type: "image", source: { type: "base64", media_type: "image/png", data: image } }]),
];

const resultsOf = ({ called }: ClientQuestion): readonly object[] =>
  called
    ? [
        {
          role: "assistant",
          content: [
            ...(called.answer.text === "" ? [] : [{ type: "text", text: called.answer.text }]),
            ...called.answer.calls.map(({ id, name, args }) => ({
              type: "tool_use",
              id,
              name,
              input: JSON.parse(args || "{}") as unknown,
            })),
          ],
        },
        {
          role: "user",
          content: called.answer.calls.map(({ id }) => ({
            type: "tool_result",
            tool_use_id: id,
            content: called.result,
          })),
        },
      ]
    : [];
