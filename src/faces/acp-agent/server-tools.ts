import type { McpServer } from "@agentclientprotocol/sdk";
import { untilAborted } from "../../core/abort-race.ts";
import type { Elicit, HubProgress, Toolbox, ToolHub } from "../../core/hub/tool-hub.ts";
import { unlessGone } from "../../core/ignored-failures.ts";
import type { ToolCallPart, ToolMessage } from "../../core/turn.ts";
import type { ToolSite } from "./editor-tools.ts";
import { resultContent } from "./kept-messages.ts";
import { type Allowed, askPermission } from "./permission.ts";

/** The MCP servers that an editor has named for one session. */
export interface EditorServers extends ToolHub {
  close(): Promise<void>;
}

/** Checks the entries of MCP servers and throws if one is wrong. The servers are started when they are first opened. */
export type OpenEditorServers = (servers: readonly McpServer[], folder: string) => EditorServers;

/** Runs a tool of such a server, shown in the editor and with the user's permission. Failures are results. */
export async function runServerTool(
  call: ToolCallPart,
  toolbox: Toolbox,
  site: ToolSite,
  { allowed, elicit }: { readonly allowed: Allowed; readonly elicit: Elicit | undefined },
): Promise<ToolMessage> {
  const { id, name, args } = call;
  const message = (result: Pick<ToolMessage, "content" | "isError">): ToolMessage => ({
    role: "tool",
    callId: id,
    ...result,
  });
  const failed = (text: string) => message({ content: [{ type: "text", text }], isError: true });
  const update = (more: object) => site.update({ sessionUpdate: "tool_call_update", toolCallId: id, ...more });
  const shown = { kind: "other", title: name } as const;
  await site.update({ sessionUpdate: "tool_call", toolCallId: id, ...shown, status: "pending", rawInput: args });
  try {
    if (!(await askPermission(call, shown, site, allowed))) {
      await update({ status: "failed" });
      return failed("The user did not allow this.");
    }
    await update({ status: "in_progress" });
    const onProgress = (progress: HubProgress) => void unlessGone(update({ title: `${name} ${shareOf(progress)}` }));
    const calling = toolbox.call(name, args, { signal: site.signal, onProgress, elicit });
    const result = (await untilAborted(calling, site.signal)) ?? { content: [CANCELLED], isError: true };
    await update({ status: result.isError ? "failed" : "completed", title: name, content: resultContent(result) });
    return message(result);
  } catch (error) {
    await update({ status: "failed" });
    return failed(site.signal.aborted ? "Cancelled." : error instanceof Error ? error.message : String(error));
  }
}

const CANCELLED = { type: "text", text: "Cancelled." } as const;

const shareOf = ({ done, total, message }: HubProgress): string =>
  [total === undefined ? String(done) : `${done}/${total}`, message].filter(Boolean).join(" ");
