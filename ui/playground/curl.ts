import type { Dialect, Question } from "./dialects.ts";

/**
 * Returns a command for a shell that sends the same request. The key is read from a variable, or else from `excursor key`. The body comes as a here
 * document, so that images fit and nothing in it needs quotes.
 */
export function curlCommand(origin: string, dialect: Dialect, question: Question, usesHub: boolean): string {
  return [
    `curl -N '${origin}${dialect.path(question.model).replaceAll("'", "%27")}' \\`,
    `  -H "authorization: Bearer \${EXCURSOR_API_KEY:-$(excursor key)}" -H 'content-type: application/json' \\`,
    ...(usesHub ? ["  -H 'x-excursor-tools: hub' \\"] : []),
    "  -d @- <<'JSON'",
    JSON.stringify(dialect.body(question)),
    "JSON",
    "",
  ].join("\n");
}
