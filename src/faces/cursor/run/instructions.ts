import type { RequestContext } from "../../../gen/agent/v1/request_context_pb.ts";
import type { CursorRule } from "../../../gen/agent/v1/rule_pb.ts";
import type { AgentRunRequest } from "../../../gen/agent/v1/run_pb.ts";
import type { RunMode } from "./mode.ts";

/** What a model is told unless the user or the client replaces it. */
const DEFAULT_INSTRUCTIONS = `You are a coding agent. You work in the user's workspace with the tools that are offered to you.

- Look before you change: read a file before you edit it, and search before you assume.
- Make the smallest change that does what the user asks. Keep the style of the code around it.
- Use several tools at once when their calls do not depend on each other.
- A tool that fails tells you why. Change what you do, and do not repeat the same call.
- If the user rejects a call, do not try to reach the same effect in another way; ask.
- When you are done, say briefly what you did and what you could not check.`;

const MODE_INSTRUCTIONS: Readonly<Record<RunMode, string | undefined>> = {
  agent: undefined,
  ask: "The user only wants an answer. Change nothing: no files, and nothing through the tools of servers.",
  plan: "The user wants a plan first. Change nothing: no files, and nothing through the tools of servers. Look at what you need, then answer with the plan.",
};

/**
 * Joins the instructions of a run: ours or the client's own system prompt, then what its mode means, the environment, the
 * rules of the workspace (AGENTS.md is one of them) and the instructions of MCP servers.
 */
export function systemOf(
  request: AgentRunRequest,
  contexts: readonly RequestContext[],
  instructions: string = DEFAULT_INSTRUCTIONS,
  mode: RunMode = "agent",
): string {
  const { customSystemPrompt } = request;
  const override = contexts.map((context) => context.systemPromptOverride?.spec).find((spec) => spec?.case);
  const replaced = override?.case === "replace" ? override.value : undefined;
  return [
    replaced || customSystemPrompt || instructions,
    override?.case === "append" ? override.value : undefined,
    MODE_INSTRUCTIONS[mode],
    environment(contexts),
    first(contexts, ({ cloudRule }) => cloudRule),
    rulesText(contexts),
    first(contexts, ({ mcpInstructions }) =>
      mcpInstructions
        .map(({ serverName, instructions: text }) => section(`mcp_server name="${serverName}"`, text))
        .join("\n\n"),
    ),
    first(contexts, ({ hooksAdditionalContext }) => hooksAdditionalContext),
  ]
    .filter((text) => text)
    .join("\n\n");
}

/** Contexts may repeat each other: the first that has something wins. */
const first = (contexts: readonly RequestContext[], read: (context: RequestContext) => string | undefined) =>
  contexts.map(read).find((text) => text);

const section = (tag: string, text: string): string => `<${tag}>\n${text}\n</${/^\w+/.exec(tag)?.[0]}>`;

function environment(contexts: readonly RequestContext[]): string | undefined {
  return first(contexts, ({ env, gitRepos }) => {
    if (!env) return undefined;
    const lines = [
      ["Operating system", env.osVersion],
      ["Workspace", env.workspacePaths.join(", ")],
      ["Shell", env.shell],
      ["Time zone", env.timeZone],
      ...gitRepos.map(({ path, branchName }) => ["Git repository", `${path} (branch ${branchName})`] as const),
    ];
    const text = lines.filter(([, value]) => value).map(([name, value]) => `${name}: ${value}`);
    return text.length === 0 ? undefined : section("environment", text.join("\n"));
  });
}

function rulesText(contexts: readonly RequestContext[]): string | undefined {
  return first(contexts, ({ rules, nonFileRules }) => [...rules, ...nonFileRules].flatMap(ruleText).join("\n\n"));
}

/** A rule that the model may ask for is only named; a rule that the user attaches comes with the message. */
function ruleText({ type, content, fullPath }: CursorRule): string[] {
  const rule = type?.type;
  const source = fullPath === "" ? "" : ` source="${fullPath}"`;
  switch (rule?.case) {
    case "fileGlobbed":
      return [section(`rule${source} files="${rule.value.globs.join(", ")}"`, content)];
    case "agentFetched":
      return [`Read ${fullPath} if this is about: ${rule.value.description}`];
    case "manuallyAttached":
      return [];
    default:
      return content === "" ? [] : [section(`rule${source}`, content)];
  }
}
