import { isAbsolute, join } from "node:path";
import type {
  AgentContext,
  ClientCapabilities,
  SessionUpdate,
  ToolCallContent,
  ToolKind,
} from "@agentclientprotocol/sdk";
import { untilAborted } from "../../core/abort-race.ts";
import { unlessGone } from "../../core/ignored-failures.ts";
import { kindOf } from "../../core/json/describe-value.ts";
import type { JsonObject, ToolCallPart, ToolDefinition, ToolMessage } from "../../core/turn.ts";
import { type Allowed, askPermission } from "./permission.ts";

export interface ToolSite {
  readonly client: AgentContext;
  readonly sessionId: string;
  /** The absolute path of the project. */
  readonly folder: string;
  readonly signal: AbortSignal;
  update(update: SessionUpdate): Promise<void>;
}

/** A tool that the editor carries out. */
interface EditorTool {
  readonly definition: ToolDefinition;
  /** Names of required string arguments. */
  readonly needs: readonly string[];
  readonly kind: ToolKind;
  readonly asks: boolean;
  readonly isOffered: (can: ClientCapabilities) => boolean;
  readonly title: (args: JsonObject) => string;
  /** Returns what the user is shown before the tool runs. */
  readonly preview?: (args: JsonObject, site: ToolSite) => Promise<ToolCallContent[]>;
  /** Returns the result for the model. Throws if the tool fails. */
  readonly run: (args: JsonObject, site: ToolSite, callId: string) => Promise<string>;
}

const OUTPUT_BYTES = 256 * 1024;

const object = (properties: JsonObject, ...required: string[]): JsonObject => ({
  type: "object",
  properties,
  required,
});

const PATH: JsonObject = { type: "string", description: "Absolute path of the file" };

/** The names are ones that the driver maps Cursor's native requests to. */
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
    needs: ["path"],
    kind: "read",
    asks: false,
    isOffered: (can) => can.fs?.readTextFile === true,
    title: (args) => `Read ${args["path"]}`,
    run: ({ path, offset, limit }, site) =>
      readText(path, site, {
        ...(typeof offset === "number" && { line: offset }),
        ...(typeof limit === "number" && { limit }),
      }),
  },
  {
    definition: {
      name: "write_file",
      description: "Writes a text file of the project; what was in it before is gone.",
      schema: object({ path: PATH, content: { type: "string" } }, "path", "content"),
    },
    needs: ["path", "content"],
    kind: "edit",
    asks: true,
    isOffered: (can) => can.fs?.writeTextFile === true,
    title: (args) => `Write ${args["path"]}`,
    preview: async ({ path, content }, site) => {
      const oldText = await readText(path, site).catch(() => null);
      return [{ type: "diff", path: inFolder(site.folder, path), oldText, newText: String(content) }];
    },
    run: async ({ path, content }, site) => {
      await writeText(site, path, String(content));
      return "The file was written.";
    },
  },
  {
    definition: {
      name: "edit_file",
      description:
        "Replaces text in a file of the project; the rest stays as it is. Prefer it to write_file for files that are there.",
      schema: object(
        {
          path: PATH,
          old_text: { type: "string", description: "Exactly as in the file; it must be there once" },
          new_text: { type: "string" },
          replace_all: { type: "boolean", description: "Replace every occurrence" },
        },
        "path",
        "old_text",
        "new_text",
      ),
    },
    needs: ["path", "old_text", "new_text"],
    kind: "edit",
    asks: true,
    isOffered: (can) => can.fs?.readTextFile === true && can.fs.writeTextFile === true,
    title: (args) => `Edit ${args["path"]}`,
    preview: async (args, site) => {
      const oldText = await readText(args["path"], site);
      const newText = edited(oldText, args);
      return [{ type: "diff", path: inFolder(site.folder, args["path"]), oldText, newText }];
    },
    run: async (args, site) => {
      // Reads again: the user may have changed the file before allowing the edit.
      const changed = edited(await readText(args["path"], site), args);
      site.signal.throwIfAborted();
      await writeText(site, args["path"], changed);
      return "The file was changed.";
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
    needs: ["command"],
    kind: "execute",
    asks: true,
    isOffered: (can) => can.terminal === true,
    title: (args) => String(args["command"]),
    run: runCommand,
  },
];

/** Waits until the command ends. An abort kills the command and releases the terminal; the result is dropped. */
async function runCommand({ command, cwd }: JsonObject, site: ToolSite, callId: string): Promise<string> {
  const { client, sessionId, folder, signal, update } = site;
  const [shell, flag] = process.platform === "win32" ? ["cmd.exe", "/c"] : ["/bin/sh", "-c"];
  const terminal = await client.createTerminal({
    sessionId,
    command: shell,
    args: [flag, String(command)],
    cwd: typeof cwd === "string" ? inFolder(folder, cwd) : folder,
    outputByteLimit: OUTPUT_BYTES,
  });
  const release = () => unlessGone(terminal.release());
  const stop = () => {
    void unlessGone(terminal.kill());
    void release();
  };
  signal.addEventListener("abort", stop, { once: true });
  // The abort may have come while the terminal was created.
  if (signal.aborted) stop();
  try {
    const content: ToolCallContent[] = [{ type: "terminal", terminalId: terminal.id }];
    await update({ sessionUpdate: "tool_call_update", toolCallId: callId, content });
    const { exitCode, signal: killedBy } = await terminal.waitForExit();
    const { output, truncated } = await terminal.currentOutput();
    const cut = truncated ? "[the beginning was left out]\n" : "";
    const end = killedBy ? `[ended by ${killedBy}]` : exitCode ? `[exit code ${exitCode}]` : "";
    // The output of a successful command is passed on unchanged: the model may parse it.
    if (end === "") return cut + output || "(no output)";
    return `${cut}${output}${output === "" || output.endsWith("\n") ? "" : "\n"}${end}`;
  } finally {
    signal.removeEventListener("abort", stop);
    if (!signal.aborted) await release();
  }
}

/** Reads a file as the editor has it, unsaved changes included. */
async function readText(path: unknown, { client, sessionId, folder }: ToolSite, range: object = {}): Promise<string> {
  const { content } = await client.request("fs/read_text_file", { sessionId, path: inFolder(folder, path), ...range });
  if (typeof content !== "string") throw new Error("The editor did not send the text of the file.");
  return content;
}

const writeText = ({ client, sessionId, folder }: ToolSite, path: unknown, content: string) =>
  client.request("fs/write_text_file", { sessionId, path: inFolder(folder, path), content });

/** Replaces text. Throws an error that tells the model how to correct its arguments. */
function edited(before: string, args: JsonObject): string {
  const [old, fresh, isAll] = [String(args["old_text"]), String(args["new_text"]), args["replace_all"]];
  if (old === "") throw new Error("old_text: expected the text to replace.");
  if (old === fresh) throw new Error("new_text: it is the same as old_text.");
  const count = before.split(old).length - 1;
  if (count === 0) throw new Error("old_text is not in the file. Read the file and copy the text exactly.");
  if (count > 1 && isAll !== true) {
    throw new Error(`old_text is in the file ${count} times. Give more of the text around it, or set replace_all.`);
  }
  return before.split(old).join(fresh);
}

export const offeredTools = (can: ClientCapabilities): readonly ToolDefinition[] =>
  TOOLS.filter((tool) => tool.isOffered(can)).map(({ definition }) => definition);

/** Runs a tool of the editor, shown there and with the user's permission. Failures are results, too. */
export async function runEditorTool(call: ToolCallPart, site: ToolSite, allowed: Allowed): Promise<ToolMessage> {
  const { id, name, args } = call;
  const tool = TOOLS.find(({ definition }) => definition.name === name);
  if (!tool) return result(id, `There is no tool ${JSON.stringify(name)}.`, true);
  const wrong = wrongText(tool, args);
  if (wrong !== undefined) return result(id, wrong, true);
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
  const { signal } = site;
  try {
    const content = tool.preview && (await untilAborted(tool.preview(args, site), signal));
    if (content) await site.update({ sessionUpdate: "tool_call_update", toolCallId: id, content });
    if (tool.asks && !(await askPermission(call, { kind: tool.kind, title: tool.title(args) }, site, allowed))) {
      await show("failed");
      return result(id, signal.aborted ? "Cancelled." : "The user did not allow this.", true);
    }
    await show("in_progress");
    const said = await untilAborted(tool.run(args, site, id), signal);
    await show(said === undefined ? "failed" : "completed");
    return result(id, said ?? "Cancelled.", said === undefined);
  } catch (error) {
    await show("failed");
    return result(id, error instanceof Error ? error.message : String(error), true);
  }
}

/** Returns the problem of an argument that must be a string and is not. Models send arguments of any type. */
function wrongText({ definition, needs }: EditorTool, args: JsonObject): string | undefined {
  const properties = definition.schema["properties"] as Readonly<Record<string, JsonObject>>;
  const name = Object.keys(properties).find((key) => {
    if (properties[key]?.["type"] !== "string") return false;
    return args[key] === undefined ? needs.includes(key) : typeof args[key] !== "string";
  });
  return name === undefined ? undefined : `${name}: expected a string, got ${kindOf(args[name])}.`;
}

const inFolder = (folder: string, path: unknown): string =>
  typeof path === "string" && isAbsolute(path) ? path : join(folder, String(path));

const result = (callId: string, text: string, isError: boolean): ToolMessage => ({
  role: "tool",
  callId,
  content: [{ type: "text", text }],
  isError,
});
