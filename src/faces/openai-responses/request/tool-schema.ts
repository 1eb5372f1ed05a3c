import { z } from "zod";
import { jsonObject } from "../../shared/json-object.ts";
import { toolName as name, toolParameters } from "../../shared/tools/tool-definition.ts";

const functionTool = z.object({
  type: z.literal("function"),
  name,
  description: z.string().nullish(),
  parameters: toolParameters.nullish(),
});

const customTool = z.object({
  type: z.literal("custom"),
  name,
  description: z.string().nullish(),
  format: z.object({ type: z.string(), syntax: z.string().nullish(), definition: z.string().nullish() }).nullish(),
});

/** A tool that finds other tools. The client runs the search. */
const toolSearch = z.object({
  type: z.literal("tool_search"),
  execution: z.string().nullish(),
  description: z.string().nullish(),
  parameters: jsonObject.nullish(),
});

/** A tool that only OpenAI's servers can run, of any type. */
const hostedTool = z.object({ type: z.literal("hosted"), hostedType: z.string() });

/** Unknown types count as hosted: a tool that cannot run here must not fail the request. */
const orHosted = (known: ReadonlySet<string>) => (value: unknown) =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
    ? known.has(value.type)
      ? value
      : { type: "hosted", hostedType: value.type }
    : value;

const namespace = z.object({
  type: z.literal("namespace"),
  name,
  description: z.string().nullish(),
  tools: z.array(
    z.preprocess(
      orHosted(new Set(["function", "custom"])),
      z.discriminatedUnion("type", [functionTool, customTool, hostedTool]),
    ),
  ),
});

export const tool = z.preprocess(
  orHosted(new Set(["function", "custom", "namespace", "tool_search"])),
  z.discriminatedUnion("type", [functionTool, customTool, namespace, toolSearch, hostedTool]),
);

export type RequestTool = z.infer<typeof tool>;
