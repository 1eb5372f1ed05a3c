import { type ClientQuestion, NO_PARAMETERS, type QuestionFormat, TOOL_DESCRIPTION } from "./client-question.ts";

interface Chunk {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly Part[] };
    readonly finishReason?: string;
  }[];
}

interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: { readonly id?: string; readonly name: string; readonly args?: object };
}

export const gemini: QuestionFormat = {
  title: "Gemini",
  path: (model) => `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
  body: (question) => ({
    contents: [{ role: "user", parts: partsOf(question) }, ...resultsOf(question)],
    ...(question.tool !== undefined && {
      tools: [
        {
          functionDeclarations: [
            { name: question.tool, description: TOOL_DESCRIPTION, parametersJsonSchema: NO_PARAMETERS },
          ],
        },
      ],
    }),
    ...(question.wantsThinking && {
      generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel: "HIGH" } },
    }),
  }),
  read: (event) =>
    ((event as Chunk).candidates?.[0]?.content?.parts ?? []).map(({ text, thought, functionCall: called }) => ({
      ...(thought ? { thinking: text } : { text }),
      ...(called && {
        call: { id: called.id ?? "", name: called.name },
        args: JSON.stringify(called.args ?? {}),
      }),
    })),
  isLast: (event) => (event as Chunk).candidates?.[0]?.finishReason !== undefined,
};

const partsOf = ({ prompt, image }: ClientQuestion) => [
  { text: prompt },
  ...(image === undefined ? [] : [{ inlineData: { mimeType: "image/png", data: image } }]),
];

const resultsOf = ({ called }: ClientQuestion): readonly object[] =>
  called
    ? [
        {
          role: "model",
          parts: [
            ...(called.answer.text === "" ? [] : [{ text: called.answer.text }]),
            ...called.answer.calls.map(({ id, name, args }) => ({
              functionCall: { id, name, args: JSON.parse(args) as unknown },
            })),
          ],
        },
        {
          role: "user",
          parts: called.answer.calls.map(({ id, name }) => ({
            functionResponse: { id, name, response: { output: called.result } },
          })),
        },
      ]
    : [];
