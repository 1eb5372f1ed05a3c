import { z } from "zod";
import type { JsonObject } from "../../core/turn.ts";
import type { Call } from "../call.ts";
import type { ToolCallReply, ToolReply, ToolsReply } from "../messages.ts";
import { readBody } from "../read-body.ts";

/** The MCP servers and agents of the gateway. */
export interface ToolSources {
  list(signal: AbortSignal): Promise<ToolsReply>;
  /** Starts the servers, and waits a moment for them. */
  connect(): Promise<void>;
  find(server: string, tool: string): ToolReply;
  call(server: string, tool: string, args: JsonObject, signal: AbortSignal): Promise<ToolCallReply>;
  /** Approves a server, or a tool of it, if it still has this digest. */
  approve(wanted: Approval): Promise<void>;
}

export interface Approval {
  readonly server: string;
  /** Absent: the server itself. */
  readonly tool?: string | undefined;
  readonly digest: string;
}

const name = z.string().min(1).max(256);
const ToolCall = z.object({ server: name, tool: name, arguments: z.record(z.string(), z.json()) });
const ApprovalBody = z.object({ server: name, tool: name.optional(), digest: z.string().min(1).max(128) });

/** The calls of the page Tools. */
export const toolCalls = (tools: ToolSources): readonly Call[] => [
  { method: "GET", path: "/tools", handle: ({ signal }) => tools.list(signal) },
  {
    method: "POST",
    path: "/tools",
    async handle({ signal }) {
      await tools.connect();
      return tools.list(signal);
    },
  },
  {
    method: "GET",
    path: "/tool",
    handle: ({ query }) => tools.find(query.get("server") ?? "", query.get("tool") ?? ""),
  },
  {
    method: "POST",
    path: "/tool-calls",
    handle({ body, signal }) {
      const { server, tool, arguments: args } = readBody(ToolCall, body);
      return tools.call(server, tool, args as JsonObject, signal);
    },
  },
  {
    method: "POST",
    path: "/approvals",
    async handle({ body }) {
      await tools.approve(readBody(ApprovalBody, body));
      return {};
    },
  },
];
