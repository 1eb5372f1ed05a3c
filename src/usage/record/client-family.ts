/** How well-known clients name themselves, and what we call them. */
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/^claude-cli\b/i, "claude-code"],
  [/^codex/i, "codex"],
  [/^opencode\b/i, "opencode"],
  [/^aider\b/i, "aider"],
  [/^cursor/i, "cursor"],
  [/^Zed\b/i, "zed"],
  [/\bCline\b/i, "cline"],
  [/\bRoo-?Code\b/i, "roo-code"],
  [/\bcontinue\b/i, "continue"],
  [/^(?:Async)?OpenAI\/Python/i, "openai-python"],
  [/^OpenAI\/JS/i, "openai-js"],
  [/^(?:Async)?Anthropic\/Python/i, "anthropic-python"],
  [/^Anthropic\/JS/i, "anthropic-js"],
  [/\bai-sdk\//i, "ai-sdk"],
  [/^Mozilla\//, "browser"],
];

/** Returns the family of a user agent: a well-known client, else the name of its first product, without the version. */
export function clientFamily(userAgent: string | undefined): string {
  if (userAgent === undefined) return "unknown";
  const known = FAMILIES.find(([pattern]) => pattern.test(userAgent));
  if (known) return known[1];
  const product = /^[A-Za-z][\w.-]{0,31}/.exec(userAgent)?.[0];
  return product?.toLowerCase() ?? "unknown";
}
