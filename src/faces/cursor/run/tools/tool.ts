import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { JsonObject, ToolDefinition, ToolMessage } from "../../../../core/turn.ts";
import type { ExecClientMessage, ExecServerMessage } from "../../../../gen/agent/v1/exec_pb.ts";
import type { TodoItem } from "../../../../gen/agent/v1/plan_pb.ts";
import { type ToolCall, ToolCallSchema } from "../../../../gen/agent/v1/tool_call_pb.ts";
import type { ExecReply } from "../../../../wire/agent/exec/exec-result.ts";
import type { Update } from "../../../../wire/agent/messages.ts";

/** Where a tool runs: the client of one run. */
export interface ToolSite {
  readonly callId: string;
  readonly signal: AbortSignal;
  /** The absolute path of the workspace, if the client has told it. */
  readonly workspace: string | undefined;
  /** Asks the client to do something. Rejects when the run is cancelled or the client is gone. */
  exec(request: ExecServerMessage, onMessage?: (message: ExecClientMessage) => void): Promise<ExecReply>;
  /** Shows an update while the tool runs. */
  show(update: Update): void;
  /** The todo list of the conversation. */
  todos: readonly TodoItem[];
}

export interface ToolOutcome extends Pick<ToolMessage, "content" | "isError"> {
  /** The call with its result, as the client shows it. */
  readonly display: ToolCall;
}

/** A tool that a model is offered. */
export interface CursorTool {
  readonly definition: ToolDefinition;
  /** The members of `ToolCall` by which the client's allow and exclude lists name it. */
  readonly listedAs: readonly string[];
  /** True if the call can be repeated after its result was lost. */
  readonly isReadOnly: boolean;
  display(args: JsonObject, callId: string): ToolCall;
  /** Runs the call. Throws a `ToolProblem` for arguments that cannot work. */
  run(args: JsonObject, site: ToolSite): Promise<ToolOutcome>;
}

/** A reason for the model why a call was not made. */
export class ToolProblem extends Error {
  override readonly name = "ToolProblem";
}

export const objectSchema = (properties: JsonObject, ...required: string[]): JsonObject => ({
  type: "object",
  properties,
  required,
});

export const PATH: JsonObject = {
  type: "string",
  description: "Path of the file, absolute or relative to the workspace",
};

/** Returns an argument that has to be a string. */
export function textArg(args: JsonObject, name: string): string {
  const value = args[name];
  if (typeof value === "string") return value;
  throw new ToolProblem(`${name}: expected a string.`);
}

/** Returns the given arguments of these names, without those that are absent. */
export const pick = (args: JsonObject, ...names: readonly string[]): JsonObject =>
  Object.fromEntries(
    names.flatMap((name) => (args[name] === undefined || args[name] === null ? [] : [[name, args[name]]])),
  );

export const toolCall = (callId: string, tool: MessageInitShape<typeof ToolCallSchema>["tool"] & object): ToolCall =>
  create(ToolCallSchema, { toolCallId: callId, tool });

type Results = Extract<ExecClientMessage["message"], { case: string }>;

/** Returns the result of a reply; undefined if the client gave none, or one of another kind. */
export function resultOf<C extends Results["case"]>(
  { messages, error }: ExecReply,
  member: C,
): ResultOf<C> | undefined {
  const last = messages.at(-1)?.message;
  return error === undefined && last?.case === member ? (last.value as ResultOf<C>) : undefined;
}

type ResultOf<C> = Extract<Results, { case: C }> extends { readonly value: infer V } ? V : never;

/** Characters of a result that the model reads, at most. */
const MAX_RESULT = 200_000;

/** Shortens a long text in its middle. */
export function bounded(text: string): string {
  if (text.length <= MAX_RESULT) return text;
  const half = MAX_RESULT / 2;
  return `${text.slice(0, half)}\n[${text.length - MAX_RESULT} characters were left out]\n${text.slice(-half)}`;
}

export const outcome = (text: string, isError: boolean, display: ToolCall): ToolOutcome => ({
  content: [{ type: "text", text: bounded(text) }],
  isError,
  display,
});
