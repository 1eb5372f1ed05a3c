import { textOf } from "../../../../core/turn.ts";
import type { FetchArgs } from "../../../../gen/agent/v1/exec_web_pb.ts";
import { failureOf } from "./results/failure.ts";
import type { Route } from "./route.ts";

const results: Route<FetchArgs>["results"] = ({ url }, said) => {
  const error = failureOf(said);
  if (error !== undefined)
    return [{ case: "fetchResult", value: { result: { case: "error", value: { url, error } } } }];
  // The client returns only the content, so success counts as 200.
  const value = { url, content: textOf(said.content), statusCode: 200, contentType: "text/markdown" };
  return [{ case: "fetchResult", value: { result: { case: "success", value } } }];
};

const WHOLE_PAGE = "Return the whole content of this page as Markdown, leaving nothing out.";

const TOOLS = [
  "webfetch", // OpenCode, Claude Code, Qwen Code
  "fetch", // Continue, Crush, Zed
  "fetch_url",
  "fetch_url_content",
  "fetch_webpage", // Copilot
  "read_url",
  "url_fetch",
];

export const FETCH: readonly Route<FetchArgs>[] = [
  {
    tools: TOOLS,
    args: ({ url }) => [
      { names: ["url", "uri", "urls"], value: url, use: "needed" },
      { names: ["format"], value: "markdown", use: "offered" },
      { names: ["prompt", "query", "question"], value: WHOLE_PAGE, use: "filler" },
      { names: ["explanation", "description"], value: `Fetch ${url}`, use: "filler" },
    ],
    results,
  },
  {
    // Gemini CLI takes the address as part of its prompt.
    tools: TOOLS,
    args: ({ url }) => [{ names: ["prompt"], value: `${url}\n${WHOLE_PAGE}`, use: "needed" }],
    results,
  },
];
