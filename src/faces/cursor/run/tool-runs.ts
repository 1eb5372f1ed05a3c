import { create } from "@bufbuild/protobuf";
import { unlessAborted } from "../../../core/abort-race.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { LoopGuard } from "../../../core/rules/loop-guard.ts";
import type { ToolCallPart } from "../../../core/turn.ts";
import type { TodoItem } from "../../../gen/agent/v1/plan_pb.ts";
import { type ToolCall, ToolCallSchema } from "../../../gen/agent/v1/tool_call_pb.ts";
import type { ClientRequests } from "../../../wire/agent/client-requests.ts";
import { encodeServerMessage, encodeUpdate } from "./render.ts";
import { type ToolOutcome, ToolProblem, type ToolSite, toolCall } from "./tools/tool.ts";
import type { RunTools } from "./tools/toolbox.ts";

interface ToolRunsParts {
  readonly client: Pick<ClientRequests, "exec">;
  readonly send: (payload: Uint8Array) => void;
  /** How many rounds of tools one run may have. */
  readonly maxSteps: number;
  readonly signal: AbortSignal;
  /** True if the signal aborted because the user cancelled, and the client is still there. */
  readonly isCancelled: () => boolean;
}

/** Runs the tool calls of one run at its client. */
export class ToolRuns {
  readonly #parts: ToolRunsParts;
  readonly #guard: LoopGuard;
  readonly #openExecs = new Set<number>();
  /** The tools of the run. Undefined until the request has been read. */
  offered: RunTools | undefined;
  /** The absolute path of the workspace, if the client has told it. */
  workspace: string | undefined;
  todos: readonly TodoItem[] = [];

  constructor(parts: ToolRunsParts) {
    this.#parts = parts;
    this.#guard = new LoopGuard(parts.maxSteps);
  }

  /** Begins a round of calls. Throws if the model calls tools without end. */
  beginRound(): void {
    this.#guard.beginStep();
    if (this.#guard.isStuck) throw toolLoop();
  }

  async run(call: ToolCallPart): Promise<ToolOutcome> {
    const { signal, isCancelled } = this.#parts;
    const failed = (text: string): ToolOutcome => ({
      content: [{ type: "text", text }],
      isError: true,
      display: this.display(call),
    });
    const tool = this.offered?.find(call.name);
    if (!tool) return failed(`There is no tool ${JSON.stringify(call.name)}, or the client does not allow it.`);
    const warning = this.#guard.warn(call.name, call.args);
    if (warning !== undefined) return failed(warning);
    try {
      signal.throwIfAborted();
      const outcome = await tool.run(call.args, this.#siteOf(call.id));
      this.#guard.note(call.name, call.args, outcome);
      return outcome;
    } catch (error) {
      if (error instanceof ToolProblem) return failed(error.message);
      if (isCancelled()) return failed("Cancelled by the user.");
      throw error;
    }
  }

  /** Tells the client to stop what it was asked to do. */
  abortOpen(): void {
    for (const id of this.#openExecs) {
      const abort = { case: "abort" as const, value: { id } };
      this.#parts.send(encodeServerMessage({ case: "execServerControlMessage", value: { message: abort } }));
    }
  }

  /** Returns how a call is shown to the user. */
  display({ name, args, id }: Pick<ToolCallPart, "name" | "args" | "id">): ToolCall {
    const tool = this.offered?.find(name);
    if (tool) return tool.display(args, id);
    const mcp = { name, toolName: name, toolCallId: id };
    return name === ""
      ? create(ToolCallSchema, { toolCallId: id })
      : toolCall(id, { case: "mcpToolCall", value: { args: mcp } });
  }

  #siteOf(callId: string): ToolSite {
    const { client, send, signal } = this.#parts;
    const runs = this;
    return {
      callId,
      signal,
      workspace: this.workspace,
      exec(request, onMessage) {
        const reply = client.exec(request, false, onMessage);
        runs.#openExecs.add(request.id);
        return unlessAborted(reply, signal).finally(() => runs.#openExecs.delete(request.id));
      },
      show: (update) => send(encodeUpdate(update)),
      get todos() {
        return runs.todos;
      },
      set todos(todos) {
        runs.todos = todos;
      },
    };
  }
}

/** The error of a run whose model calls tools without end. */
export const toolLoop = (): ExcursorError => new ExcursorError("tool_loop", [], { retryable: false });
