import type { JsonObject, Principal, ToolDefinition, ToolMessage } from "../turn.ts";

/** Tools that the gateway itself can run: those of the MCP servers that the user has set up. */
export interface ToolHub {
  /** What this principal may use. Waits for servers that are just being started; one that does not come is left out. */
  open(principal: Principal, signal: AbortSignal): Promise<Toolbox>;
}

export interface Toolbox {
  readonly tools: readonly ToolDefinition[];
  /** Runs one. What goes wrong is a result, too; it rejects only if it was aborted. */
  call(name: string, args: JsonObject, context: HubCallContext): Promise<HubResult>;
  /** The server that a call goes to, and the tool's name there; undefined if it goes to none. */
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
  /** Who answers the questions of a tool; without it they are declined. */
  readonly elicit?: Elicit | undefined;
}

export interface HubProgress {
  readonly done: number;
  readonly total: number | undefined;
  readonly message: string | undefined;
}

/** A question of a tool's to the user: a form, or a page to open. */
export interface Elicitation {
  readonly server: string;
  readonly message: string;
  /** JSON schema of the answer: an object of plain values. Empty where there is a page. */
  readonly schema: JsonObject;
  /** The page to open; the answer says only whether the user does. */
  readonly url?: string;
}

export type ElicitationAnswer =
  | { readonly action: "accept"; readonly content: Readonly<Record<string, string | number | boolean | string[]>> }
  | { readonly action: "decline" | "cancel" };

export type Elicit = (question: Elicitation, signal: AbortSignal) => Promise<ElicitationAnswer>;
