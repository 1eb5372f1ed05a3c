import { type ClientQuestion, NO_PARAMETERS, type QuestionFormat, TOOL_DESCRIPTION } from "./client-question.ts";

interface Chunk {
  readonly choices?: readonly {
    readonly delta: {
      readonly content?: string | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly {
        readonly id?: string;
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[];
    };
  }[];
}

export const chat: QuestionFormat = {
  title: "OpenAI Chat Completions",
  path: () => "/v1/chat/completions",
  body: (question) => ({
    model: question.model,
    messages: [{ role: "user", content: contentOf(question) }, ...resultsOf(question)],
    stream: true,
    ...(question.tool !== undefined && {
      tools: [
        {
          type: "function",
          function: { name: question.tool, description: TOOL_DESCRIPTION, parameters: NO_PARAMETERS },
        },
      ],
    }),
    ...(question.wantsThinking && { reasoning_effort: "high" }),
  }),
  read: (event) =>
    ((event as Chunk).choices ?? []).flatMap(({ delta }) => [
      { text: delta.content ?? undefined, thinking: delta.reasoning_content },
      ...(delta.tool_calls ?? []).map(({ id, function: called }) => ({
        ...(id !== undefined && { call: { id, name: called?.name ?? "" } }),
        args: called?.arguments,
      })),
    ]),
  isLast: () => false,
};

const contentOf = ({ prompt, image }: ClientQuestion) =>
  image === undefined
    ? prompt
    : [
        { type: "text", text: prompt },
        { type: "image_url", image_url: { url: `data:image/png;base64,${image}` } },
      ];

const resultsOf = ({ called }: ClientQuestion): readonly object[] =>
  called
    ? [
        {
          role: "assistant",
          content: called.answer.text,
          tool_calls: called.answer.calls.map(({ id, name, args }) => ({
            id,
            type: "function",
            function: { name, arguments: args },
          })),
        },
        ...called.answer.calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: called.result })),
      ]
    : [];
