import { z } from "zod";
import { jsonObject } from "../shared/json-object.ts";
import { toolName } from "../shared/tools/tool-definition.ts";

const blob = z.object({ mimeType: z.string(), data: z.string() });

const part = z
  .object({
    text: z.string().nullish(),
    thought: z.boolean().nullish(),
    thoughtSignature: z.string().nullish(),
    inlineData: blob.nullish(),
    fileData: z.object({ mimeType: z.string().nullish(), fileUri: z.string() }).nullish(),
    functionCall: z.object({ id: z.string().nullish(), name: z.string().min(1), args: jsonObject.nullish() }).nullish(),
    functionResponse: z
      .object({
        id: z.string().nullish(),
        name: z.string().min(1),
        response: jsonObject.nullish(),
        parts: z.array(z.object({ inlineData: blob.nullish() })).nullish(),
      })
      .nullish(),
    // Of Google's own tools: a conversation may have begun at Google.
    executableCode: z.unknown().optional(),
    codeExecutionResult: z.unknown().optional(),
    toolCall: z.unknown().optional(),
    toolResponse: z.unknown().optional(),
  })
  .refine((given) => Object.values(given).some((value) => value !== undefined && value !== null), {
    error: "expected text, inlineData, fileData, functionCall or functionResponse",
  });

const content = z.object({
  /** `function` is an older name for results. Default: `user`. */
  role: z.enum(["user", "model", "function"]).nullish(),
  parts: z.array(part).nullish(),
});

const tool = z.object({
  functionDeclarations: z
    .array(
      z.object({
        name: toolName,
        description: z.string().nullish(),
        /** In Google's form of schemas. */
        parameters: jsonObject.nullish(),
        parametersJsonSchema: jsonObject.nullish(),
      }),
    )
    .nullish(),
});

const toolConfig = z.object({
  functionCallingConfig: z
    .object({
      mode: z.enum(["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"]).nullish(),
      allowedFunctionNames: z.array(z.string()).nullish(),
    })
    .nullish(),
});

const generationConfig = z.object({
  stopSequences: z.array(z.string().max(1024)).max(64).nullish(),
  responseMimeType: z.enum(["text/plain", "application/json"]).nullish(),
  /** In Google's form of schemas. */
  responseSchema: jsonObject.nullish(),
  responseJsonSchema: jsonObject.nullish(),
  maxOutputTokens: z.int().min(1).nullish(),
  temperature: z.number().nullish(),
  topP: z.number().nullish(),
  topK: z.number().nullish(),
  seed: z.number().nullish(),
  presencePenalty: z.number().nullish(),
  frequencyPenalty: z.number().nullish(),
  thinkingConfig: z
    .object({
      includeThoughts: z.boolean().nullish(),
      thinkingBudget: z.number().nullish(),
      thinkingLevel: z.string().max(64).nullish(),
    })
    .nullish(),
});

/** The body of a request, in camel case. Unknown fields are dropped; wrong values are refused. */
export const generateRequest = z.object({
  contents: z.array(content).min(1),
  systemInstruction: z.union([z.string(), z.object({ parts: z.array(part).nullish() })]).nullish(),
  tools: z.array(tool).nullish(),
  toolConfig: toolConfig.nullish(),
  generationConfig: generationConfig.nullish(),
});

export type GenerateRequest = z.infer<typeof generateRequest>;
export type GenerationConfig = z.infer<typeof generationConfig>;
export type Part = z.infer<typeof part>;
export type Content = z.infer<typeof content>;
