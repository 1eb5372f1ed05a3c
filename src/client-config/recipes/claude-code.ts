import { join } from "node:path";
import type { ClientRecipe, OfferedGateway } from "../client-recipe.ts";
import { editJson } from "../edit-json.ts";

export const claudeCode: ClientRecipe = {
  id: "claude-code",
  title: "Claude Code",
  dialect: "messages",
  file: ({ home, environment }) => join(environment["CLAUDE_CONFIG_DIR"] || join(home, ".claude"), "settings.json"),
  edit: (text, gateway) =>
    editJson(
      text,
      Object.entries(variables(gateway)).map(([name, value]) => [["env", name], value] as const),
    ),
  next: () => [
    "Start it as usual: claude",
    "If Claude Code asks which account to use, run /logout once to leave the old account.",
  ],
};

/** Claude Code has names of its own for a large, a normal and a small model, and uses the small one by itself. */
const variables = ({ url, key, model, models }: OfferedGateway): Readonly<Record<string, string>> => {
  const window = models.find(({ id }) => id === model)?.window;
  const like = (word: string) => models.find(({ id }) => id.includes(word))?.id ?? model;
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key.reveal(),
    // Otherwise a key in the user's environment would be sent as well.
    ANTHROPIC_API_KEY: "",
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_OPUS_MODEL: like("opus"),
    ANTHROPIC_DEFAULT_SONNET_MODEL: like("sonnet"),
    ANTHROPIC_DEFAULT_HAIKU_MODEL: like("haiku"),
    // Claude Code knows only Anthropic's context windows, and assumes too large ones for other models.
    ...(window !== undefined && { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(window) }),
  };
};
