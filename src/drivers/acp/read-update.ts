import { z } from "zod";

const chunk = z.object({ content: z.looseObject({ type: z.string(), text: z.string().optional() }) });

const tool = z.looseObject({
  toolCallId: z.string(),
  title: z.string().nullish(),
  status: z.enum(["pending", "in_progress", "completed", "failed"]).nullish().catch(undefined),
});

const command = z.looseObject({ name: z.string(), description: z.string().catch("") });

/** The used fields of updates. Agents of different versions send more or less. */
const updateSchema = z.discriminatedUnion("sessionUpdate", [
  z.object({ sessionUpdate: z.literal("agent_message_chunk"), ...chunk.shape }),
  z.object({ sessionUpdate: z.literal("agent_thought_chunk"), ...chunk.shape }),
  tool.extend({ sessionUpdate: z.literal("tool_call") }),
  tool.extend({ sessionUpdate: z.literal("tool_call_update") }),
  z.object({ sessionUpdate: z.literal("plan"), entries: z.array(z.looseObject({ content: z.string() })) }),
  z.object({ sessionUpdate: z.literal("available_commands_update"), availableCommands: z.array(command) }),
]);

const notificationSchema = z.object({ sessionId: z.string(), update: updateSchema });

export type AgentUpdate = z.output<typeof updateSchema>;

/** Parses a notification. Returns undefined if it is irrelevant or unknown. */
export function readUpdate(params: unknown): z.output<typeof notificationSchema> | undefined {
  return notificationSchema.safeParse(params).data;
}
