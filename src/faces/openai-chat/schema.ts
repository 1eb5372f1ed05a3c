import { z } from "zod";
import { jsonObject } from "../shared/json-object.ts";
import { toolName, toolParameters } from "../shared/tools/tool-definition.ts";

const textPart = z.object({ type: z.literal("text"), text: z.string() });

const imagePart = z.object({
  type: z.literal("image_url"),
  image_url: z.union([z.string(), z.object({ url: z.string() })]),
});

const filePart = z.object({
  type: z.literal("file"),
  file: z.object({
    filename: z.string().nullish(),
    file_data: z.string({ error: "expected the file's content: the gateway stores no files" }),
  }),
});

const refusalPart = z.object({ type: z.literal("refusal"), refusal: z.string() });

const texts = z.union([z.string(), z.array(textPart)]);

const toolCall = z.object({
  id: z.string().min(1),
  type: z.literal("function").nullish(),
  function: z.object({ name: z.string().min(1), arguments: z.string().nullish() }),
});

const thinkingBlock = z.object({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: z.string().nullish(),
});

const message = z.discriminatedUnion("role", [
  z.object({ role: z.literal("system"), content: texts }),
  z.object({ role: z.literal("developer"), content: texts }),
  z.object({
    role: z.literal("user"),
    content: z.union([z.string(), z.array(z.discriminatedUnion("type", [textPart, imagePart, filePart]))]),
  }),
  z.object({
    role: z.literal("assistant"),
    content: z.union([z.string(), z.array(z.discriminatedUnion("type", [textPart, refusalPart]))]).nullish(),
    refusal: z.string().nullish(),
    reasoning_content: z.string().nullish().catch(undefined),
    reasoning: z.string().nullish().catch(undefined),
    thinking_blocks: z.array(thinkingBlock).nullish().catch(undefined),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.object({
    role: z.literal("tool"),
    tool_call_id: z.string().min(1),
    /** Not a field of this dialect; converted from Anthropic's blocks. */
    is_error: z.boolean().nullish().catch(undefined),
    content: z.union([z.string(), z.array(z.discriminatedUnion("type", [textPart, imagePart]))]).nullish(),
  }),
]);

const tool = z.object({
  type: z.literal("function"),
  function: z.object({
    name: toolName,
    description: z.string().nullish(),
    parameters: toolParameters.nullish(),
  }),
});

const namedTool = z.object({ type: z.literal("function"), function: z.object({ name: z.string() }) });

const toolChoice = z.union([
  z.enum(["auto", "none", "required"]),
  z.discriminatedUnion("type", [
    namedTool,
    z.object({
      type: z.literal("allowed_tools"),
      allowed_tools: z.object({ mode: z.enum(["auto", "required"]), tools: z.array(namedTool) }),
    }),
  ]),
]);

const responseFormat = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object"), schema: jsonObject.nullish() }),
  z.object({
    type: z.literal("json_schema"),
    json_schema: z.object({ name: z.string().min(1), schema: jsonObject.nullish() }).nullish(),
    // Some clients leave the wrapper out.
    name: z.string().min(1).nullish(),
    schema: jsonObject.nullish(),
  }),
]);

const stopText = z.string().max(1024);

/** The body of a chat request. Unknown fields are dropped, since clients send many; wrong values are refused. */
export const chatRequest = z.object({
  model: z.string().min(1).max(256),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  stop: z.union([stopText, z.array(stopText).max(64)]).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  response_format: responseFormat.nullish(),
  reasoning_effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.number().nullish(),
  min_p: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  repetition_penalty: z.number().nullish(),
  seed: z.number().nullish(),
});

export type ChatRequest = z.infer<typeof chatRequest>;
export type ChatMessage = ChatRequest["messages"][number];
export type ChatPart = Exclude<Extract<ChatMessage, { role: "user" }>["content"], string>[number];
