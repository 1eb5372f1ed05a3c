import { z } from "zod";
import { invalidRequest } from "../schema-issue.ts";

const id = z.string().min(1).max(256);

/** The IDE sends a whole description of its provider, command and all: only the name of it counts, and only here. */
const provider = z.union([id, z.object({ id }).transform((given) => given.id)]).transform(agentModel);

const MESSAGE_CHARS = 10_000_000;

export const sendMessageSchema = z.object({
  provider,
  message: z.string().min(1).max(MESSAGE_CHARS),
  composerId: id,
  stream: z.boolean().default(false),
  /** One of the agent's own models. */
  modelId: id.optional(),
});

export const initSessionSchema = z.object({ provider, composerId: id.optional() });
export const getSessionSchema = z.object({ provider, composerId: id });
export const cancelSchema = z.object({ composerId: id });
export const permissionSchema = z.object({ requestId: id, optionId: id.optional(), cancelled: z.boolean().optional() });
export const logSchema = z.object({
  level: z.string().max(16).default("info"),
  message: z.string().max(MESSAGE_CHARS),
});

export function readBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const { data, error } = schema.safeParse(body);
  if (error) throw invalidRequest(error, body);
  return data as T;
}

/** As the IDE spells them: `acp:claude-code`, `Claude Code (ACP)`, `claude-code`. */
export function agentModel(given: string): string {
  const name = given.replace(/^acp:/, "").replace(/ \(ACP\)$/, "");
  return `acp:${name.toLowerCase().replaceAll(" ", "-")}`;
}
