import { z } from "zod";
import type { JsonObject } from "../../core/turn.ts";
import type { Call } from "../call.ts";
import type { AgentsReply, SignInReply, ToolCallReply, ToolReply, ToolsReply } from "../messages.ts";
import { readBody } from "../read-body.ts";

/** The MCP servers and agents of the gateway. */
export interface ToolSources {
  list(): ToolsReply;
  agents(): AgentsReply;
  /** Starts the servers, and waits a moment for them. */
  connect(): Promise<void>;
  find(server: string, tool: string): ToolReply;
  call(server: string, tool: string, args: JsonObject, signal: AbortSignal): Promise<ToolCallReply>;
  /** Starts a sign-in at a server, in place of an earlier one. Returns when its page is known. */
  signIn(server: string, signal: AbortSignal): Promise<SignInReply>;
  /** Takes the address that the page of a sign-in led to. */
  finishSignIn(server: string, address: string): void;
  cancelSignIn(server: string): void;
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
const SignIn = z.object({ server: name });
const SignInAddress = z.object({ server: name, address: z.string().min(1).max(4096) });
const ApprovalBody = z.object({ server: name, tool: name.optional(), digest: z.string().min(1).max(128) });

/** The calls of the page Tools. */
export const toolCalls = (tools: ToolSources): readonly Call[] => [
  { method: "GET", path: "/tools", handle: () => tools.list() },
  { method: "GET", path: "/agents", handle: () => tools.agents() },
  {
    method: "POST",
    path: "/tools",
    async handle() {
      await tools.connect();
      return tools.list();
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
    path: "/sign-ins",
    handle: ({ body, signal }) => tools.signIn(readBody(SignIn, body).server, signal),
  },
  {
    method: "POST",
    path: "/sign-in-addresses",
    handle({ body }) {
      const { server, address } = readBody(SignInAddress, body);
      tools.finishSignIn(server, address);
      return {};
    },
  },
  {
    method: "DELETE",
    path: "/sign-ins/{server}",
    handle({ path: { server = "" } }) {
      tools.cancelSignIn(server);
      return {};
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
