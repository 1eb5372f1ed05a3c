import type { DatabaseSync } from "node:sqlite";
import type { ToolCallRecord } from "../record/records.ts";
import { text } from "./row-values.ts";

/** The rows of tool calls. */
export class CallRows {
  readonly #put: ReturnType<DatabaseSync["prepare"]>;
  readonly #deleteBefore: ReturnType<DatabaseSync["prepare"]>;

  constructor(connection: DatabaseSync) {
    // A call that was lost may come back in a replay.
    this.#put = connection.prepare("INSERT OR REPLACE INTO tool_call VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    this.#deleteBefore = connection.prepare("DELETE FROM tool_call WHERE asked_at < ?");
  }

  put(call: ToolCallRecord): void {
    const { callId, requestId, principalId, ranBy, server, tool, askedAt, answeredAt, outcome, bytes } = call;
    // Ids of hub calls are the upstream's, and unique in a request only.
    const scope = ranBy === "hub" ? requestId : "";
    this.#put.run(
      text(callId),
      scope,
      requestId,
      principalId,
      ranBy,
      text(server),
      text(tool),
      Math.round(askedAt),
      answeredAt === undefined ? null : Math.round(answeredAt),
      outcome,
      bytes ?? null,
    );
  }

  deleteBefore(ms: number): void {
    this.#deleteBefore.run(ms);
  }
}
