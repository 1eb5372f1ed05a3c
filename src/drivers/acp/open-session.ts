import { ExcursorError } from "../../core/errors.ts";
import type { AgentProcess } from "./agent/agent-process.ts";

export async function openSession(agent: AgentProcess, name: string, model: string | undefined): Promise<string> {
  const { sessionId, configOptions } = await agent.newSession();
  if (model === undefined) return sessionId;
  const option = configOptions.find(({ category }) => category === "model");
  const values = option?.options ?? [];
  if (!option || !values.includes(model)) {
    agent.closeSession(sessionId);
    const known = values.length === 0 ? "The agent offers no choice of models." : `Its models: ${values.join(", ")}.`;
    throw new ExcursorError("model-not-found", `The agent "${name}" has no model "${model}". ${known}`, {
      field: "model",
    });
  }
  await agent.setConfigOption(sessionId, option.id, model);
  return sessionId;
}
