import type { CallEntry } from "../core/call-ledger.ts";
import type { Log } from "./log.ts";

/** The line of one entry: which call, whose, and what became of it. */
export function logCall(log: Log, { type, callId, tool, principalId, requestId, reason, waitedMs }: CallEntry): void {
  const fields = { requestId, principal: principalId, call: callId, tool: tool.slice(0, 128), event: type };
  log.info({ ...fields, reason, waitedMs }, "tool call");
}
