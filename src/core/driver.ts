import type { OnSpent } from "./engine/metered-run.ts";
import type { TurnEvent } from "./events.ts";
import type { Elicit } from "./hub/tool-hub.ts";
import type { Message, Principal, ToolMessage, Turn } from "./turn.ts";

/** One upstream. It knows turns and events and its own wire, and no face. */
export interface Driver {
  /** The upstream itself keeps to the turn's `maxOutputTokens`: nobody has to count for it. */
  readonly limitsOutput?: boolean;
  /** It passes the turn's `sampling` on, and tells by notices what of it the upstream cannot take. Others take none. */
  readonly takesSampling?: boolean;
  /** Begins to answer. Never throws: what goes wrong is thrown out of the run's iteration. */
  open(turn: Turn, context: RunContext): Run;
  /** What the principal may ask for by name. */
  listModels(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** The model of a name that need not be in the list, such as one with suffixes. Absent: what is in the list is all. */
  findModel?(name: string, principal: Principal, signal: AbortSignal): Promise<ModelInfo>;
  /** What a model can be told by a slash, where it has such commands. */
  listCommands?(model: string, principal: Principal): Promise<readonly SlashCommand[]>;
}

export interface SlashCommand {
  /** Without the slash. */
  readonly name: string;
  readonly description: string;
}

/** `hub`: tools of ours, too; `client`: the client's own and no others. */
export type ToolSource = "hub" | "client";

export interface RunContext {
  /** Of the client's request; goes into logs. */
  readonly requestId: string;
  /** Whose tools the model may use beside the client's own; unset leaves it to the settings. */
  readonly tools?: ToolSource | undefined;
  /** The gateways that the request has passed before this one. */
  readonly hops?: readonly string[] | undefined;
  /** Who answers the questions of tools that we run; without it they are declined. */
  readonly elicit?: Elicit | undefined;
  /** Called when the run has ended although it waits for tool results: nobody reads it who would notice. */
  readonly onLost?: () => void;
}

/** The same for one request: a run may outlive it. */
export interface RequestContext extends RunContext {
  /** Aborted when the client is gone: the run it waits for is cancelled then. */
  readonly signal: AbortSignal;
  /** Told what every upstream run of this request uses, finished or not; absent where nobody counts. */
  readonly onSpent?: OnSpent | undefined;
}

/**
 * One live answer: batches of events, at least one event each. What comes in one turn of the event loop is one batch, so
 * that every hop and every write is paid per batch and not per token.
 *
 * Leaving the loop early cancels it. After `done` with `tool-calls` it waits: {@link submitResults} makes it go on, and the
 * loop is entered again.
 */
export interface Run extends AsyncIterable<readonly TurnEvent[]> {
  /**
   * Brings the results it waits for, and the conversation as the client has it by now, results included. False if it
   * cannot go on: it is over, or waits for others.
   */
  submitResults(results: readonly ToolMessage[], history: readonly Message[]): boolean;
  /** Drops it, and tells the upstream at once. Harmless when it is over. */
  cancel(): void;
}

export interface ModelInfo {
  readonly id: string;
  readonly displayName: string;
  readonly aliases: readonly string[];
  /** How much it reads, in tokens. */
  readonly contextTokens: number;
  readonly supportsImages: boolean;
  readonly isThinking: boolean;
  /** The efforts it can be asked for, e.g. `low`, `high`; none if it has but one. */
  readonly efforts: readonly string[];
}
