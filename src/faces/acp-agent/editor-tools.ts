import { isAbsolute, join } from "node:path";
import type {
  AgentContext,
  ClientCapabilities,
  SessionUpdate,
  ToolCallContent,
  ToolKind,
} from "@agentclientprotocol/sdk";
import type { JsonObject, ToolCallPart, ToolDefinition, ToolMessage } from "../../core/turn.ts";
import { type Allowed, askLeave } from "./ask-leave.ts";

/** What a tool may use: the editor, and the session it belongs to. */
export interface ToolSite {
  readonly client: AgentContext;
  readonly sessionId: string;
  /** Where the project is; absolute. */
  readonly folder: string;
  readonly signal: AbortSignal;
  update(update: SessionUpdate): Promise<void>;
}

/** One thing that the editor does for a model. */
interface EditorTool {
  readonly definition: ToolDefinition;
  readonly kind: ToolKind;
  /** Whether the user is asked first. */
  readonly asks: boolean;
  readonly isOffered: (can: ClientCapabilities) => boolean;
  readonly title: (args: JsonObject) => string;
  /** What is shown before it runs. */
  readonly preview?: (args: JsonObject, site: ToolSite) => Promise<ToolCallContent[]>;
  /** What the model is told; throws what went wrong. */
  readonly run: (args: JsonObject, site: ToolSite, callId: string) => Promise<string>;
}

const OUTPUT_BYTES = 256 * 1024;

const object = (properties: JsonObject, ...required: string[]): JsonObject => ({
  type: "object",
  properties,
  required,
});

const PATH: JsonObject = { type: "string", description: "Absolute path of the file" };

/** Named so that native requests of Cursor's models find them. */
const TOOLS: readonly EditorTool[] = [
  {
    definition: {
      name: "read_file",
      description: "Reads a text file of the project, as the editor has it, unsaved changes included.",
      schema: object(
        {
          path: PATH,
          offset: { type: "integer", description: "First line, from 1" },
          limit: { type: "integer", description: "How many lines" },
        },
        "path",
      ),
    },
    kind: "read",
    asks: false,
    isOffered: (can) => can.fs?.readTextFile === true,
    title: (args) => `Read ${args["path"]}`,
    run: async ({ path, offset, limit }, { client, sessionId, folder }) => {
      const range = {
        ...(typeof offset === "number" && { line: offset }),
        ...(typeof limit === "number" && { limit }),
      };
      const where = inFolder(folder, path);
      return (await client.request("fs/read_text_file", { sessionId, path: where, ...range })).content;
    },
  },
  {
    definition: {
      name: "write_file",
      description: "Writes a text file of the project; what was in it before is gone.",
      schema: object({ path: PATH, content: { type: "string" } }, "path", "content"),
    },
    kind: "edit",
    asks: true,
    isOffered: (can) => can.fs?.writeTextFile === true,
    title: (args) => `Write ${args["path"]}`,
    preview: async ({ path, content }, { client, sessionId, folder }) => {
      const where = inFolder(folder, path);
      const before = await client.request("fs/read_text_file", { sessionId, path: where }).catch(() => undefined);
      return [{ type: "diff", path: where, oldText: before?.content ?? null, newText: String(content) }];
    },
    run: async ({ path, content }, { client, sessionId, folder }) => {
      await client.request("fs/write_text_file", { sessionId, path: inFolder(folder, path), content: String(content) });
      return "The file was written.";
    },
  },
  {
    definition: {
      name: "terminal",
      description: "Runs a shell command in the project and waits for its end.",
      schema: object(
        { command: { type: "string" }, cwd: { type: "string", description: "Absolute path of the folder" } },
        "command",
      ),
    },
    kind: "execute",
    asks: true,
    isOffered: (can) => can.terminal === true,
    title: (args) => String(args["command"]),
    run: runCommand,
  },
];

async function runCommand({ command, cwd }: JsonObject, site: ToolSite, callId: string): Promise<string> {
  const { client, sessionId, folder, signal, update } = site;
  const [shell, flag] = process.platform === "win32" ? ["cmd.exe", "/c"] : ["/bin/sh", "-c"];
  await using terminal = await client.createTerminal({
    sessionId,
    command: shell,
    args: [flag, String(command)],
    cwd: typeof cwd === "string" ? inFolder(folder, cwd) : folder,
    outputByteLimit: OUTPUT_BYTES,
  });
  const stop = () => void terminal.kill().catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  // It may have been cancelled while it was being started.
  if (signal.aborted) stop();
  try {
    const content: ToolCallContent[] = [{ type: "terminal", terminalId: terminal.id }];
    await update({ sessionUpdate: "tool_call_update", toolCallId: callId, content });
    const { exitCode, signal: killedBy } = await terminal.waitForExit();
    const { output, truncated } = await terminal.currentOutput();
    const cut = truncated ? "[the beginning was left out]\n" : "";
    const end = killedBy ? `[ended by ${killedBy}]` : `[exit code ${exitCode ?? 0}]`;
    return `${cut}${output}${output === "" || output.endsWith("\n") ? "" : "\n"}${end}`;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

export const offeredTools = (can: ClientCapabilities): readonly ToolDefinition[] =>
  TOOLS.filter((tool) => tool.isOffered(can)).map(({ definition }) => definition);

/** Does what the model asks for, shown in the editor and with the user's leave. What goes wrong is a result, too. */
export async function runEditorTool(call: ToolCallPart, site: ToolSite, allowed: Allowed): Promise<ToolMessage> {
  const { id, name, args } = call;
  const tool = TOOLS.find(({ definition }) => definition.name === name);
  if (!tool) return result(id, `There is no tool ${JSON.stringify(name)}.`, true);
  const { path } = args;
  await site.update({
    sessionUpdate: "tool_call",
    toolCallId: id,
    title: tool.title(args),
    kind: tool.kind,
    status: "pending",
    rawInput: args,
    ...(typeof path === "string" && { locations: [{ path: inFolder(site.folder, path) }] }),
  });
  const show = (status: "in_progress" | "completed" | "failed", content?: ToolCallContent[]) =>
    site.update({ sessionUpdate: "tool_call_update", toolCallId: id, status, ...(content && { content }) });
  try {
    const content = await tool.preview?.(args, site);
    if (content) await site.update({ sessionUpdate: "tool_call_update", toolCallId: id, content });
    if (tool.asks && !(await askLeave(call, { kind: tool.kind, title: tool.title(args) }, site, allowed))) {
      await show("failed");
      return result(id, "The user did not allow this.", true);
    }
    await show("in_progress");
    const said = await tool.run(args, site, id);
    await show("completed");
    return result(id, said, false);
  } catch (error) {
    await show("failed");
    return result(id, error instanceof Error ? error.message : String(error), true);
  }
}

const inFolder = (folder: string, path: unknown): string =>
  typeof path === "string" && isAbsolute(path) ? path : join(folder, String(path));

const result = (callId: string, text: string, isError: boolean): ToolMessage => ({
  role: "tool",
  callId,
  content: [{ type: "text", text }],
  isError,
});
