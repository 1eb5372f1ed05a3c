import { z } from "zod";
import { jsonObject } from "../shared/json-object.ts";
import { toolName, toolParameters } from "../shared/tools/tool-definition.ts";

/** Images in base64, without their types. */
const images = z.array(z.string()).nullish();

const toolCall = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string().min(1), arguments: z.union([jsonObject, z.string()]).nullish() }),
});

const message = z.discriminatedUnion("role", [
  z.object({ role: z.literal("system"), content: z.string() }),
  z.object({ role: z.literal("user"), content: z.string().nullish(), images }),
  z.object({
    role: z.literal("assistant"),
    content: z.string().nullish(),
    thinking: z.string().nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.object({
    role: z.literal("tool"),
    content: z.string().nullish(),
    images,
    tool_name: z.string().nullish(),
    tool_call_id: z.string().nullish(),
  }),
]);

const tool = z.object({
  type: z.literal("function").nullish(),
  function: z.object({
    name: toolName,
    description: z.string().nullish(),
    parameters: toolParameters.nullish(),
  }),
});

const stopText = z.string().max(1024);

/** Options of Ollama's own engine, such as `num_ctx`, are dropped. */
const options = z.object({
  num_predict: z.int().nullish(),
  stop: z.union([stopText, z.array(stopText).max(64)]).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.number().nullish(),
  min_p: z.number().nullish(),
  seed: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  repeat_penalty: z.number().nullish(),
});

const commonFields = {
  model: z.string().min(1).max(256),
  /** Default: true. */
  stream: z.boolean().nullish(),
  think: z.union([z.boolean(), z.enum(["low", "medium", "high", "max"])]).nullish(),
  format: z.union([z.enum(["json", ""]), jsonObject]).nullish(),
  options: options.nullish(),
  /** Has no effect, except that 0 makes a request to load a model one to unload it. */
  keep_alive: z.unknown().optional(),
};

/** Unknown fields are dropped, since clients send many; wrong values are refused. */
export const chatRequest = z.object({
  ...commonFields,
  /** An empty list loads the model. */
  messages: z.array(message).default([]),
  tools: z.array(tool).nullish(),
});

export const generateRequest = z.object({
  ...commonFields,
  /** An empty prompt loads the model. */
  prompt: z.string().default(""),
  system: z.string().nullish(),
  images,
});

/** Clients use either name. */
export const showRequest = z.object({
  model: z.string().max(256).nullish(),
  name: z.string().max(256).nullish(),
});

export type ChatRequest = z.infer<typeof chatRequest>;
export type GenerateRequest = z.infer<typeof generateRequest>;
export type ChatMessage = ChatRequest["messages"][number];
