import type { ToolMessage } from "../../core/turn.ts";
import type { McpArgs } from "../../gen/agent/v1/exec_mcp_pb.ts";
import type { ExecServerMessage } from "../../gen/agent/v1/exec_pb.ts";
import type { ClientMessage } from "./stream.ts";
import { wireToolResult } from "./tools.ts";

/** How long the backend may pause between the calls of one batch, where nothing says that it is complete. */
const QUIET_MS = 100;

/**
 * The tool calls that the model waits for. A batch is complete when as many came as were announced, when a checkpoint
 * follows, or after a short silence: older backends announce nothing.
 */
export class PendingCalls {
  readonly #byCallId = new Map<string, ExecServerMessage>();
  readonly #onComplete: () => void;
  #announced = 0;
  #quiet: NodeJS.Timeout | undefined;

  constructor(onComplete: () => void) {
    this.#onComplete = onComplete;
  }

  get size(): number {
    return this.#byCallId.size;
  }

  announce(count: number): void {
    this.#announced = count;
  }

  add(exec: ExecServerMessage, { toolCallId }: McpArgs): void {
    this.#byCallId.set(toolCallId, exec);
    clearTimeout(this.#quiet);
    if (this.#announced > 0 && this.#byCallId.size >= this.#announced) this.complete();
    else this.#quiet = setTimeout(() => this.complete(), QUIET_MS);
  }

  /** Ends the batch, if there is one. */
  complete(): void {
    clearTimeout(this.#quiet);
    this.#announced = 0;
    if (this.#byCallId.size > 0) this.#onComplete();
  }

  /** The messages that answer these calls; each call is answered once. */
  answer(results: readonly ToolMessage[]): ClientMessage[] {
    return results.flatMap((result): ClientMessage[] => {
      const exec = this.#byCallId.get(result.callId);
      if (!exec) return [];
      this.#byCallId.delete(result.callId);
      const { id, execId } = exec;
      return [
        {
          case: "execClientMessage",
          value: { id, execId, message: { case: "mcpResult", value: wireToolResult(result) } },
        },
        { case: "execClientControlMessage", value: { message: { case: "streamClose", value: { id } } } },
      ];
    });
  }

  /** Signs of life for calls that take their time. */
  heartbeats(): ClientMessage[] {
    return [...this.#byCallId.values()].map(({ id }) => ({
      case: "execClientControlMessage",
      value: { message: { case: "heartbeat", value: { id } } },
    }));
  }

  clear(): void {
    clearTimeout(this.#quiet);
    this.#byCallId.clear();
  }
}
