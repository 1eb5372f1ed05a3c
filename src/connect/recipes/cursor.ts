import type { ClientGuide, GuidedGateway, OfferedModel } from "../client-recipe.ts";

/** Names with this in them Cursor sends to Anthropic itself, whatever the base URL says. */
const TAKEN = /claude-/i;

/** A name that Cursor leaves alone. */
const freeName = (id: string): string => id.replaceAll(/claude-/gi, "");

/**
 * The Cursor IDE as a client. It has no configuration that a program could write, and it does not ask by itself: Cursor's
 * servers do, which refuse addresses of this machine. So there is a tunnel, with a secret that nobody can guess.
 */
export const cursor: ClientGuide = {
  id: "cursor",
  title: "The Cursor IDE",
  baseUrl: ({ tunnel, pathSecret }) => `${tunnel ?? "https://YOUR-TUNNEL"}/${pathSecret.value}/tags/v1`,
  steps: (gateway) => {
    const { models } = gateway;
    const [taken, free] = [models.filter(isTaken), models.filter((model) => !isTaken(model))];
    return [
      `Open a tunnel to ${gateway.url}, for example: cloudflared tunnel --url ${gateway.url}\nCursor's servers make the requests, and they refuse localhost.`,
      ...settings(gateway),
      `In Cursor: Settings → Models → API Keys. Put the key of \`excursor key\` under "OpenAI API Key", and this under "Override OpenAI Base URL":\n${cursor.baseUrl(gateway)}`,
      `Under "Add model", add each by its name: ${listed([...taken.map(({ id }) => freeName(id)), ...free.map(({ id }) => id)])}`,
      ...(taken.length > 0 ? [aliases(taken)] : []),
      "Thinking comes between tags. `excursor ide patch` makes Cursor show it as its own.",
    ];
  },
};

const isTaken = ({ id }: OfferedModel): boolean => TAKEN.test(id);

function settings({ tunnel, pathSecret }: GuidedGateway): readonly string[] {
  const host = tunnel === undefined ? "YOUR-TUNNEL" : new URL(tunnel).host;
  const lines = [`"hosts": [${JSON.stringify(host)}]`];
  if (!pathSecret.isSet) lines.push(`"pathSecret": ${JSON.stringify(pathSecret.value)}`);
  return [
    `Add to the settings, and start the gateway again (\`excursor config\` tells where they are):\n${lines.join(",\n")}`,
  ];
}

function aliases(taken: readonly OfferedModel[]): string {
  const names = taken.slice(0, MAX_LISTED).map(({ id }) => `${JSON.stringify(freeName(id))}: ${JSON.stringify(id)}`);
  return `Cursor sends names with "claude-" to Anthropic itself, so these need others; add to the settings:\n"models": { ${names.join(", ")} }`;
}

const MAX_LISTED = 12;

const listed = (names: readonly string[]): string =>
  names.length <= MAX_LISTED
    ? names.join(", ")
    : `${names.slice(0, MAX_LISTED).join(", ")}, … (\`excursor models\` lists all)`;
