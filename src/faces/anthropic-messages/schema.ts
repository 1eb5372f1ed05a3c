import { z } from "zod";
import { jsonObject } from "../shared/json-object.ts";
import { toolName, toolParameters } from "../shared/tools/tool-definition.ts";

const textBlock = z.object({ type: z.literal("text"), text: z.string() });

const notSupported = (because: string) => z.custom<never>(() => false, { error: `not supported: ${because}` });

const byFileId = z.object({
  type: z.literal("file"),
  file_id: notSupported("the gateway stores no files"),
});

const imageBlock = z.object({
  type: z.literal("image"),
  source: z.discriminatedUnion("type", [
    z.object({ type: z.literal("base64"), media_type: z.string(), data: z.string() }),
    z.object({ type: z.literal("url"), url: z.string() }),
    byFileId,
  ]),
});

const documentBlock = z.object({
  type: z.literal("document"),
  title: z.string().nullish(),
  source: z.discriminatedUnion("type", [
    z.object({ type: z.literal("text"), data: z.string() }),
    z.object({ type: z.literal("base64"), media_type: z.string(), data: z.string() }),
    z.object({ type: z.literal("content"), content: z.union([z.string(), z.array(textBlock)]) }),
    z.object({ type: z.literal("url"), url: notSupported("documents are not fetched") }),
    byFileId,
  ]),
});

const searchResultBlock = z.object({
  type: z.literal("search_result"),
  title: z.string(),
  source: z.string(),
  content: z.array(textBlock),
});

/** A tool that the client's own tool search found. The model may use it from then on. */
const toolReferenceBlock = z.object({ type: z.literal("tool_reference"), tool_name: z.string() });

const toolResultBlock = z.object({
  type: z.literal("tool_result"),
  tool_use_id: z.string().min(1),
  content: z
    .union([
      z.string(),
      z.array(
        z.discriminatedUnion("type", [textBlock, imageBlock, documentBlock, searchResultBlock, toolReferenceBlock]),
      ),
    ])
    .nullish(),
  is_error: z.boolean().nullish(),
});

/** Blocks of server-side tools. A conversation may have begun at Anthropic. */
const FOREIGN_BLOCKS = [
  "server_tool_use",
  "advisor_tool_result",
  "web_search_tool_result",
  "web_fetch_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "mcp_tool_use",
  "mcp_tool_result",
  "mcp_tool_listing",
  "container_upload",
  "compaction",
  "fallback",
] as const;

const answerBlock = z.discriminatedUnion("type", [
  textBlock,
  z.object({ type: z.literal("thinking"), thinking: z.string(), signature: z.string().nullish() }),
  z.object({ type: z.literal("redacted_thinking"), data: z.string().nullish() }),
  z.object({ type: z.literal("tool_use"), id: z.string().min(1), name: z.string().min(1), input: z.unknown() }),
  z.object({ type: z.enum(FOREIGN_BLOCKS) }),
]);

/** Anthropic's own tools have a type with a date, and no schema. */
const tool = z.object({
  type: z.string().nullish(),
  name: toolName.nullish(),
  description: z.string().nullish(),
  input_schema: toolParameters.nullish(),
  defer_loading: z.boolean().nullish(),
});

const namedTool = z.object({ type: z.literal("tool_reference"), name: z.string() });

const toolChange = [
  z.object({
    type: z.literal("tool_addition"),
    tool: z.union([namedTool, z.object({ type: z.literal("tool_definition"), definition: tool })]),
  }),
  z.object({ type: z.literal("tool_removal"), tool: namedTool }),
] as const;

const message = z.discriminatedUnion("role", [
  z.object({
    role: z.literal("user"),
    content: z.union([
      z.string(),
      z.array(z.discriminatedUnion("type", [textBlock, imageBlock, documentBlock, searchResultBlock, toolResultBlock])),
    ]),
  }),
  z.object({ role: z.literal("assistant"), content: z.union([z.string(), z.array(answerBlock)]) }),
  z.object({
    role: z.literal("system"),
    content: z.union([z.string(), z.array(z.discriminatedUnion("type", [textBlock, ...toolChange]))]).nullish(),
    clear_at: z.string().nullish(),
  }),
]);

const outputFormat = z.object({ type: z.literal("json_schema"), schema: jsonObject });

export const countRequest = z.object({
  model: z.string().min(1).max(256),
  messages: z.array(message).min(1),
  system: z.union([z.string(), z.array(textBlock)]).nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z
    .discriminatedUnion("type", [
      z.object({ type: z.enum(["auto", "any"]), disable_parallel_tool_use: z.boolean().nullish() }),
      z.object({ type: z.literal("none") }),
      z.object({ type: z.literal("tool"), name: z.string(), disable_parallel_tool_use: z.boolean().nullish() }),
    ])
    .nullish(),
  thinking: z
    .object({
      type: z.enum(["enabled", "adaptive", "between_tools", "disabled"]),
      budget_tokens: z.number().nullish(),
      /** Unknown values are accepted. */
      display: z.string().nullish().catch(undefined),
    })
    .nullish(),
  output_config: z
    .object({
      effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).nullish(),
      format: outputFormat.nullish(),
    })
    .nullish(),
  /** The former place of `output_config.format`. */
  output_format: outputFormat.nullish(),
});

/** The body of a request. Unknown fields are dropped, since clients send many; wrong values are refused. */
export const messagesRequest = countRequest.extend({
  max_tokens: z.int().min(1),
  stream: z.boolean().nullish(),
  stop_sequences: z.array(z.string().max(1024)).max(64).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.number().nullish(),
});

export type CountRequest = z.infer<typeof countRequest>;
export type MessagesRequest = z.infer<typeof messagesRequest>;
export type RequestMessage = CountRequest["messages"][number];
export type RequestTool = NonNullable<CountRequest["tools"]>[number];
export type UserBlock = Exclude<Extract<RequestMessage, { role: "user" }>["content"], string>[number];
export type AssistantBlock = z.infer<typeof answerBlock>;
export type ToolResultBlock = z.infer<typeof toolResultBlock>;
export type ResultBlock = Exclude<NonNullable<ToolResultBlock["content"]>, string>[number];
