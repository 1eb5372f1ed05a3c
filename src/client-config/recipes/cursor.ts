import type { ClientGuide, GuidedGateway, OfferedModel } from "../client-recipe.ts";

/** Cursor sends models with such names to Anthropic itself, whatever the base URL is. */
const TAKEN = /claude-/i;

/**
 * The Cursor IDE as a client. It has no configuration file for this. Cursor's servers send the requests and refuse
 * local addresses, so it needs a tunnel with a secret path.
 */
export const cursor: ClientGuide = {
  id: "cursor",
  title: "the Cursor IDE",
  baseUrl: ({ tunnel, pathSecret }) => `${tunnel ?? "https://YOUR-TUNNEL"}/${pathSecret}/tags-nonce/v1`,
  steps: (gateway) => {
    const names = namesFor(gateway.models);
    const missing = names.filter(({ isNew }) => isNew);
    return [
      `Open a tunnel to ${gateway.url}, for example: cloudflared tunnel --url ${gateway.url}\nCursor's servers send the requests, and they reject localhost.`,
      ...settings(gateway),
      `In Cursor: Settings → Models → API Keys. Enter the output of \`excursor key\` under "OpenAI API Key", and this under "Override OpenAI Base URL":\n${cursor.baseUrl(gateway)}`,
      `Under "Add model", add each model by name: ${listed(names.map(({ name }) => name))}`,
      ...(missing.length > 0 ? [newNames(missing)] : []),
      "Thinking is sent between tags with a random marker. `excursor ide patch` makes Cursor show it in its native thinking blocks.",
    ];
  },
};

interface CursorName {
  readonly id: string;
  /** A name that Cursor accepts. */
  readonly name: string;
  /** The gateway does not have this name yet. */
  readonly isNew: boolean;
}

/** Returns a name for each model that Cursor does not redirect: its id, an alias, or a new name. */
function namesFor(models: readonly OfferedModel[]): readonly CursorName[] {
  const known = new Set(models.flatMap(({ id, aliases }) => [id, ...aliases]));
  return models.map(({ id, aliases }) => {
    const own = [id, ...aliases].find((name) => !TAKEN.test(name));
    if (own !== undefined) return { id, name: own, isNew: false };
    const bare = id.replaceAll(/claude-/gi, "");
    const name = known.has(bare) ? `my-${bare}` : bare;
    known.add(name);
    return { id, name, isNew: true };
  });
}

function settings({ missing, writtenTo }: GuidedGateway): readonly string[] {
  const names = Object.keys(missing);
  if (names.length === 0) return [];
  if (writtenTo !== undefined) return [`Restart the gateway: ${writtenTo} now contains ${names.join(" and ")}.`];
  const lines = Object.entries(missing).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return [
    `Add this to the settings and restart the gateway (\`excursor config\` shows where they are):\n${lines.join(",\n")}`,
  ];
}

function newNames(missing: readonly CursorName[]): string {
  const lines = missing.slice(0, MAX_LISTED).map(({ id, name }) => `${JSON.stringify(name)}: ${JSON.stringify(id)}`);
  return `Cursor sends models whose names contain "claude-" to Anthropic, so these models need other names. Add to "models" in the settings:\n${lines.join(",\n")}`;
}

const MAX_LISTED = 12;

const listed = (names: readonly string[]): string =>
  names.length <= MAX_LISTED
    ? names.join(", ")
    : `${names.slice(0, MAX_LISTED).join(", ")}, … (\`excursor models\` lists all)`;
