import type { CallEntry, HubCallEntry } from "../core/engine/call-log.ts";
import type { Log } from "./log.ts";

/** The line of one entry: which call, whose, and what became of it. */
export function logCall(log: Log, { type, callId, tool, principalId, requestId, reason, waitedMs }: CallEntry): void {
  const fields = { requestId, principal: principalId, call: callId, tool: tool.slice(0, 128), event: type };
  log.info({ ...fields, reason, waitedMs }, "tool call");
}

/** The same for a call of the hub's: where it went, how it ended, how long that took and how large the result is. */
export function logHubCall(
  log: Log,
  { type, callId, tool, server, serverTool, principalId, requestId, outcome, ms, bytes }: HubCallEntry,
): void {
  const fields = { requestId, principal: principalId, call: callId, tool: tool.slice(0, 128), event: type };
  log.info({ ...fields, server, serverTool: serverTool?.slice(0, 128), outcome, ms, bytes }, "hub tool call");
}
