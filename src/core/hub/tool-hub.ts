import type { TraceContext } from "../http/trace-context.ts";
import type { JsonObject, Principal, ToolDefinition, ToolMessage } from "../turn.ts";

/** The hub: tools that the gateway runs itself, those of the MCP servers that the user has set up. */
export interface ToolHub {
  /** Returns the tools that a principal may use. Waits a moment for servers that are starting; those that are not ready are left out. */
  open(principal: Principal, signal: AbortSignal): Promise<Toolbox>;
}

export interface Toolbox {
  readonly tools: readonly ToolDefinition[];
  /** Calls a tool. A failure is a result, too; rejects only if the signal aborts. */
  call(name: string, args: JsonObject, context: HubCallContext): Promise<HubResult>;
  /** Returns the server that a call goes to, and the tool's name there. Undefined if it goes to none. */
  placeOf(name: string, args: JsonObject): HubPlace | undefined;
}

export interface HubPlace {
  readonly server: string;
  readonly serverTool: string;
}

export type HubResult = Pick<ToolMessage, "content" | "isError">;

export interface HubCallContext {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: HubProgress) => void;
  /** The trace of the call, to be passed on to the server. */
  readonly trace?: TraceContext | undefined;
  /** Asks the user a question of the tool. Absent: questions are declined. */
  readonly elicit?: Elicit | undefined;
}

export interface HubProgress {
  readonly done: number;
  readonly total: number | undefined;
  readonly message: string | undefined;
}

/** A question that a tool asks the user: a form to fill in, or a page to open. */
export interface Elicitation {
  readonly server: string;
  readonly message: string;
  /** The JSON schema of the answer: an object of plain values. Empty if there is a page. */
  readonly schema: JsonObject;
  /** The page to open. The answer then only says whether the user agreed to open it. */
  readonly url?: string;
}

export type ElicitationAnswer =
  | { readonly action: "accept"; readonly content: Readonly<Record<string, string | number | boolean | string[]>> }
  | { readonly action: "decline" | "cancel" };

export type Elicit = (question: Elicitation, signal: AbortSignal) => Promise<ElicitationAnswer>;
