/** The names of agents as models begin with this. */
const PREFIX = "acp:";

/** True for `acp:NAME`, and for `acp:NAME/MODEL` with one of the agent's own models. */
export const isAgentModel = (model: string): boolean => model.startsWith(PREFIX);

export const agentModel = (name: string): string => PREFIX + name;

/** Splits `acp:NAME/MODEL` into the agent's name and its own model, if there is one. */
export function readAgentModel(model: string): readonly [name: string, own: string | undefined] {
  const [name = "", ...rest] = model.slice(PREFIX.length).split("/");
  return [name, rest.length === 0 ? undefined : rest.join("/")];
}
