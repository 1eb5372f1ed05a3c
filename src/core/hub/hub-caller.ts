import type { RunContext } from "../driver.ts";
import type { HubCallEntry, HubCallLog } from "../engine/call-log.ts";
import { toolTrace } from "../http/trace-context.ts";
import { LoopGuard } from "../rules/loop-guard.ts";
import { resultBytes, type ToolCallPart, type ToolMessage, type Turn } from "../turn.ts";
import { HubNotices, type HubOutcome } from "./hub-notices.ts";
import type { HubProgress, HubResult, Toolbox } from "./tool-hub.ts";

export interface HubCallerParts {
  readonly turn: Turn;
  readonly context: RunContext;
  readonly maxSteps: number;
  readonly callLog?: HubCallLog | undefined;
}

/** Makes the hub calls of one run: reports them to the client and to the log, and refuses them when the model loops. */
export class HubCaller {
  readonly guard: LoopGuard;
  readonly notices: HubNotices;
  readonly #parts: HubCallerParts;
  #toolbox: Toolbox | undefined;

  constructor(parts: HubCallerParts) {
    this.#parts = parts;
    this.guard = new LoopGuard(parts.maxSteps);
    this.notices = new HubNotices(parts.turn.showsActivity === true);
  }

  /** Must be called before the first {@link call}. */
  use(toolbox: Toolbox): void {
    this.#toolbox = toolbox;
  }

  /** Makes one call. A call that fails has a result, too; rejects only if the signal aborts. */
  async call(call: ToolCallPart, signal: AbortSignal): Promise<ToolMessage> {
    const { id, name, args } = call;
    const toolbox = this.#toolbox;
    this.#log(call, { type: "asked" });
    const warning = this.guard.warn(name, args);
    if (warning !== undefined || !toolbox) {
      this.#log(call, { type: "finished", outcome: "refused" });
      return resultOf(id, { content: [{ type: "text", text: warning ?? "" }], isError: true });
    }
    const startedAt = performance.now();
    const finish = (outcome: HubOutcome, bytes?: number): void => {
      const ms = performance.now() - startedAt;
      this.#log(call, { type: "finished", outcome, ms: Math.round(ms), ...(bytes !== undefined && { bytes }) });
      this.notices.finished(id, name, outcome, ms);
    };
    this.#log(call, { type: "started" });
    this.notices.started(id, name);
    try {
      const onProgress = (progress: HubProgress) => this.notices.progress(id, name, progress);
      const { elicit, trace: traceOf } = this.#parts.context;
      const asked = traceOf?.();
      const trace = asked && toolTrace(asked, id);
      const result = await toolbox.call(name, args, { signal, onProgress, elicit, trace });
      this.guard.note(name, args, result);
      finish(result.isError ? "error" : "ok", resultBytes(result));
      return resultOf(id, result);
    } catch (error) {
      finish("canceled");
      throw error;
    }
  }

  #log(
    { id, name, args }: ToolCallPart,
    facts: Pick<HubCallEntry, "type"> & Partial<Pick<HubCallEntry, "outcome" | "ms" | "bytes">>,
  ): void {
    const { turn, context, callLog } = this.#parts;
    const place = this.#toolbox?.placeOf(name, args);
    const { requestId } = context;
    callLog?.({ callId: id, tool: name, ...place, principalId: turn.principal.id, requestId, ...facts });
  }
}

const resultOf = (callId: string, result: HubResult): ToolMessage => ({
  role: "tool",
  callId,
  isHubs: true,
  ...result,
});
