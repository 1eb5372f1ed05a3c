import type { CallEntry, HubCallEntry } from "../core/engine/call-log.ts";
import type { Log } from "./log.ts";

export function logCall(log: Log, { type, callId, tool, principalId, requestId, reason, waitedMs }: CallEntry): void {
  const fields = { requestId, principal: principalId, call: callId, tool: tool.slice(0, 128), event: type };
  log.info({ ...fields, reason, waitedMs }, "tool call");
}

/** Logs an entry about a hub call: its server, outcome, duration and size. */
export function logHubCall(
  log: Log,
  { type, callId, tool, server, serverTool, principalId, requestId, outcome, ms, bytes }: HubCallEntry,
): void {
  const fields = { requestId, principal: principalId, call: callId, tool: tool.slice(0, 128), event: type };
  log.info({ ...fields, server, serverTool: serverTool?.slice(0, 128), outcome, ms, bytes }, "hub tool call");
}
