import { z } from "zod";
import { tool } from "./tool-schema.ts";

/** A string with its own error message. */
const textBut = (error: string) => z.custom<string>((value) => typeof value === "string", { error });

/** A part of any message. Clients mix them, and the role decides what they mean. */
const part = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["input_text", "output_text", "text", "summary_text"]), text: z.string() }),
  z.object({ type: z.literal("refusal"), refusal: z.string() }),
  z.object({
    type: z.literal("input_image"),
    image_url: textBut("expected the image's URL: the gateway stores no files"),
  }),
  z.object({
    type: z.literal("input_file"),
    filename: z.string().nullish(),
    file_data: textBut("expected the file's content: the gateway does not fetch files by id or URL"),
  }),
]);

const content = z.union([z.string(), z.array(part)]);

const callId = z.string().min(1).max(256);
const toolName = z.string().min(1).max(256);

/** Items of OpenAI's server-side tools and the like. They are not shown to the model. */
const PASSED_OVER = [
  "agent_message",
  "apply_patch_call",
  "apply_patch_call_output",
  "code_interpreter_call",
  "compaction",
  "compaction_summary",
  "compaction_trigger",
  "computer_call",
  "computer_call_output",
  "configuration_update",
  "context_compaction",
  "file_search_call",
  "ghost_snapshot",
  "image_generation_call",
  "local_shell_call",
  "local_shell_call_output",
  "mcp_approval_request",
  "mcp_approval_response",
  "mcp_call",
  "mcp_list_tools",
  "program",
  "program_output",
  "shell_call",
  "shell_call_output",
  "web_search_call",
] as const;

const PASSED_OVER_TYPES: ReadonlySet<string> = new Set(PASSED_OVER);

export const isPassedOver = ({ type }: InputItem): boolean => PASSED_OVER_TYPES.has(type);

const item = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message"),
    role: z.enum(["user", "assistant", "system", "developer"]),
    content,
  }),
  z.object({
    type: z.literal("reasoning"),
    id: z.string().max(256).nullish().catch(undefined),
    summary: z.array(z.object({ text: z.string() })).nullish(),
    encrypted_content: z.string().nullish().catch(undefined),
  }),
  z.object({
    type: z.literal("function_call"),
    call_id: callId,
    name: toolName,
    namespace: z.string().nullish(),
    arguments: z.string().nullish(),
  }),
  z.object({
    type: z.literal("custom_tool_call"),
    call_id: callId,
    name: toolName,
    namespace: z.string().nullish(),
    input: z.string(),
  }),
  z.object({ type: z.literal("function_call_output"), call_id: callId, output: content }),
  z.object({ type: z.literal("custom_tool_call_output"), call_id: callId, output: content }),
  z.object({ type: z.literal("tool_search_call"), call_id: callId.nullish(), arguments: z.unknown() }),
  z.object({ type: z.literal("tool_search_output"), call_id: callId.nullish(), tools: z.array(tool) }),
  z.object({ type: z.literal("additional_tools"), tools: z.array(tool) }),
  z.object({ type: z.literal("item_reference"), id: z.string().min(1).max(256) }),
  z.object({ type: z.enum(PASSED_OVER) }),
]);

/** Adds the type where it can be inferred. */
export const inputItem = z.preprocess((value) => {
  if (typeof value !== "object" || value === null || ("type" in value && value.type !== null)) return value;
  if ("role" in value) return { ...value, type: "message" };
  return "id" in value ? { ...value, type: "item_reference" } : value;
}, item);

export type InputItem = z.infer<typeof inputItem>;
export type ContentPart = z.infer<typeof part>;
export type Content = string | readonly ContentPart[];
