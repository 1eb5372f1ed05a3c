import { z } from "zod";
import { isAgentModel, agentModel as modelOfAgent, readAgentModel } from "../../core/models/agent-models.ts";
import { checkForm } from "../shared/errors/check-form.ts";
import { invalidRequest } from "../shared/errors/schema-issue.ts";

const id = z.string().min(1).max(256);

/** The IDE sends the provider's whole configuration, including its command. Only the name is used. */
const provider = z.union([id, z.object({ id }).transform((given) => given.id)]).transform(agentModel);

const MESSAGE_CHARS = 10_000_000;
const URI_CHARS = 4096;
const MAX_PARTS = 1000;

const words = z.string().max(MESSAGE_CHARS);
const uri = z.string().min(1).max(URI_CHARS);

/** The blocks of ACP prompts. */
const block = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: words }),
  z.object({ type: z.literal("image"), mimeType: z.string().max(128), data: z.string() }),
  z.object({ type: z.literal("resource"), resource: z.object({ uri, text: words }) }),
  z.object({ type: z.literal("resource_link"), uri, name: uri.optional() }),
]);

export type Block = z.output<typeof block>;

/** The editor's `Uri`, serialised as JSON. */
const editorUri = z
  .object({ scheme: z.string().min(1).max(64), path: z.string().min(1).max(URI_CHARS) })
  .transform(({ scheme, path }) => `${scheme}://${encodeURI(path)}`);

const place = z.union([uri, editorUri]);
const line = z.int().min(0);

/** Lines in the editor's form (from 0) or in the display form (from 1). */
const range = z.union([
  z
    .object({ start: z.object({ line }), end: z.object({ line }) })
    .transform(({ start, end }) => [start.line + 1, end.line + 1] as const),
  z
    .object({ startLineNumber: line, endLineNumber: line })
    .transform(({ startLineNumber, endLineNumber }) => [startLineNumber, endLineNumber] as const),
]);

/** An attached file or a part of one. The text is optional, since agents can read files. */
const reference = z.union([
  place.transform((given) => ({ uri: given, name: undefined, text: undefined, range: undefined })),
  z.object({ uri: place, name: uri.optional(), text: words.optional(), range: range.optional().catch(undefined) }),
]);

export type Reference = z.output<typeof reference>;

/** A data URL, or its parts. */
const image = z.union([
  z.string().regex(/^data:/i, { error: "expected a data URL" }),
  z
    .object({ mimeType: z.string().max(128), data: z.string() })
    .transform(({ mimeType, data }) => dataUrl(mimeType, data)),
]);

export const dataUrl = (mimeType: string, data: string): string => `data:${mimeType};base64,${data}`;

export const sendMessageSchema = z.object({
  provider,
  message: z.union([z.string().min(1).max(MESSAGE_CHARS), z.array(block).min(1).max(MAX_PARTS)]),
  images: z.array(image).max(MAX_PARTS).default([]),
  references: z.array(reference).max(MAX_PARTS).default([]),
  composerId: id,
  stream: z.boolean().default(false),
  /** One of the agent's own models. */
  modelId: id.optional(),
});

export type SendMessage = z.output<typeof sendMessageSchema>;

export const initSessionSchema = z.object({ provider, composerId: id.optional() });
export const getSessionSchema = z.object({ provider, composerId: id });
export const cancelSchema = z.object({ composerId: id });
export const permissionSchema = z.object({ requestId: id, optionId: id.optional(), cancelled: z.boolean().optional() });
export const logSchema = z.object({
  level: z.string().max(16).default("info"),
  message: z.string().max(MESSAGE_CHARS),
});

export function readBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const { data, error } = checkForm(schema, body);
  if (error) throw invalidRequest(error, body);
  return data as T;
}

/** Returns the model for any spelling of the IDE: `acp:claude-code`, `Claude Code (ACP)`, `claude-code`. */
export function agentModel(given: string): string {
  const name = isAgentModel(given) ? readAgentModel(given).filter(Boolean).join("/") : given.replace(/ \(ACP\)$/, "");
  return modelOfAgent(name.toLowerCase().replaceAll(" ", "-"));
}
