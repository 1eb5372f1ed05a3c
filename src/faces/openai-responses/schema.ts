import { z } from "zod";
import { jsonObject } from "../shared/json-object.ts";
import { inputItem } from "./request/item-schema.ts";
import { tool } from "./request/tool-schema.ts";

const namedTool = z.object({
  type: z.enum(["function", "custom"]),
  name: z.string(),
  namespace: z.string().nullish(),
});

/** Tools that run at OpenAI have only a type. */
const anyTool = z.object({ type: z.string(), name: z.string().nullish(), namespace: z.string().nullish() });

const toolChoice = z.union([
  z.enum(["auto", "none", "required"]),
  z.object({ type: z.literal("allowed_tools"), mode: z.enum(["auto", "required"]), tools: z.array(anyTool) }),
  namedTool,
  anyTool,
]);

const format = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({ type: z.literal("json_schema"), name: z.string().min(1), schema: jsonObject }),
]);

/** The body of a request. Unknown fields are dropped, since clients send many; wrong values are refused. */
export const responsesRequest = z.object({
  model: z.string().min(1).max(256),
  input: z.union([z.string().min(1), z.array(inputItem)]).nullish(),
  instructions: z.string().nullish(),
  previous_response_id: z.string().min(1).max(256).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  text: z.object({ format: format.nullish() }).nullish(),
  reasoning: z
    .object({
      effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).nullish(),
      summary: z.string().nullish(),
    })
    .nullish(),
  include: z.array(z.string()).nullish(),
  metadata: jsonObject.nullish(),
  prompt_cache_key: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
});

export type ResponsesRequest = z.infer<typeof responsesRequest>;
