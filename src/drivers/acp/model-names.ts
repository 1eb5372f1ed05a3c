const PREFIX = "acp:";

/** Whether a model is an agent: `acp:NAME`, or `acp:NAME/MODEL` for one of its own models. */
export const isAgentModel = (model: string): boolean => model.startsWith(PREFIX);

export const agentModel = (name: string): string => PREFIX + name;

/** `acp:NAME/MODEL` → the agent's name, and the name of its own model if there is one. */
export function readAgentModel(model: string): readonly [name: string, own: string | undefined] {
  const [name = "", ...rest] = model.slice(PREFIX.length).split("/");
  return [name, rest.length === 0 ? undefined : rest.join("/")];
}
