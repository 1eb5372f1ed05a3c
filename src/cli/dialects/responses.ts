import { type ClientQuestion, NO_PARAMETERS, type QuestionFormat, TOOL_DESCRIPTION } from "./client-question.ts";

interface StreamedEvent {
  readonly type?: string;
  readonly delta?: string;
  readonly item?: {
    readonly type: string;
    readonly call_id?: string;
    readonly name?: string;
    readonly arguments?: string;
  };
}

export const responses: QuestionFormat = {
  title: "OpenAI Responses",
  path: () => "/v1/responses",
  body: (question) => ({
    model: question.model,
    input: [{ role: "user", content: contentOf(question) }, ...resultsOf(question)],
    stream: true,
    store: false,
    ...(question.tool !== undefined && {
      tools: [
        {
          type: "function",
          name: question.tool,
          description: TOOL_DESCRIPTION,
          parameters: NO_PARAMETERS,
          strict: false,
        },
      ],
    }),
    ...(question.wantsThinking && { reasoning: { effort: "high", summary: "auto" } }),
  }),
  read(event) {
    const { type, delta, item } = event as StreamedEvent;
    if (type === "response.output_text.delta") return [{ text: delta }];
    if (type === "response.reasoning_summary_text.delta") return [{ thinking: delta }];
    if (type !== "response.output_item.done" || item?.type !== "function_call") return [];
    return [{ call: { id: item.call_id ?? "", name: item.name ?? "" }, args: item.arguments }];
  },
  isLast: (event) => (event as StreamedEvent).type === "response.completed",
};

const contentOf = ({ prompt, image }: ClientQuestion) => [
  { type: "input_text", text: prompt },
  ...(image === undefined
    ? []
    : [{ type: "input_image", image_url: `data:image/png;base64,${image}`, detail: "auto" }]),
];

const resultsOf = ({ called }: ClientQuestion): readonly object[] =>
  called
    ? [
        ...(called.answer.text === "" ? [] : [{ role: "assistant", content: called.answer.text }]),
        ...called.answer.calls.map(({ id, name, args }) => ({
          type: "function_call",
          call_id: id,
          name,
          arguments: args,
        })),
        ...called.answer.calls.map(({ id }) => ({
          type: "function_call_output",
          call_id: id,
          output: called.result,
        })),
      ]
    : [];
