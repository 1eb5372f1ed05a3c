import type { RetryStats } from "./engine/run/retry-budget.ts";
import type { TurnEvent, Usage } from "./events.ts";
import type { TraceContext } from "./http/trace-context.ts";
import type { Elicit } from "./hub/tool-hub.ts";
import type { PassedAnswer, PassedRequest } from "./passed-request.ts";
import type { RunMeter, UpstreamRun } from "./run-meter.ts";
import type { RunObserver } from "./run-observer.ts";
import type { Message, Principal, ToolMessage, Turn } from "./turn.ts";

/**
 * One upstream: translates turns into its protocol, and its protocol into events. A driver knows no face, and no other
 * driver. It may be called concurrently, for any number of principals.
 */
export interface Driver {
  /** The upstream's host, for messages to people. Absent if there is none, or if it changes. */
  readonly host?: string;
  /** True if the upstream enforces `maxOutputTokens` itself; the engine then does not count. */
  readonly limitsOutput?: boolean;
  /**
   * True if the driver passes the turn's `sampling` on and reports by notices what the upstream cannot take. For other
   * drivers the engine reports all of it as ignored.
   */
  readonly takesSampling?: boolean;
  /** True if the usage at the end of a run is that of the whole run, and not only that after the last tool results. */
  readonly countsWholeRuns?: boolean;
  /** Starts a run. Never throws: errors are thrown out of the run's iteration. */
  open(turn: Turn, context: RunContext): Run;
  /** Lists the models that the principal may use. */
  listModels(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /**
   * Finds a model by a name that need not be listed, such as one with an effort suffix. Throws `model-not-found`. Absent:
   * only listed models exist.
   */
  findModel?(name: string, principal: Principal, signal: AbortSignal): Promise<ModelInfo>;
  /** Lists the slash commands of a model. Absent: it has none. */
  listCommands?(model: string, principal: Principal): Promise<readonly SlashCommand[]>;
  /** Lists the programs that answer for its models. Absent: it starts none. */
  listAgents?(): readonly AgentInfo[];
  /**
   * Opens ahead of time what the first request would wait for: a connection and the list of models, in the name of the
   * gateway's own account. The gateway does this once, when it is ready, and does not wait for it. It asks no model, starts
   * no program, does not keep the process alive, and never rejects: without a network it has no effect.
   */
  prewarm?(): Promise<void>;
  /** Passes a request on, and rejects with the upstream's refusal. Absent: the upstream has no such APIs. */
  passOn?(request: PassedRequest, signal: AbortSignal): Promise<PassedAnswer>;
  /** Returns what its automatic retries have come to, for metrics. Absent: it never retries. */
  retries?(): RetryStats;
  /** Stops what the driver has started beside its runs, such as programs. */
  close?(): Promise<void>;
}

/** A program of this machine that answers for a model. */
export interface AgentInfo {
  readonly model: string;
  readonly displayName: string;
  /**
   * `missing`: it is not installed. `stopped`: it starts when it is needed. `failed`: its settings are wrong, its last start
   * failed, or it has exited by itself.
   */
  readonly state: "missing" | "stopped" | "starting" | "running" | "failed";
  /** How many turns it works on. */
  readonly turns: number;
  /** Why it failed, or how to install it. */
  readonly problem: string | undefined;
}

export interface SlashCommand {
  /** Without the slash. */
  readonly name: string;
  readonly description: string;
}

/** Whose tools a model may use: `client` only the client's own, `hub` also those of the gateway's MCP servers. */
export type ToolSource = "hub" | "client";

/** What a run is told beside its turn. A run may outlive the request that started it, so there is no signal in it. */
export interface RunContext {
  /** The id of the client's request, for logs. */
  readonly requestId: string;
  /** Unset: the settings decide. */
  readonly tools?: ToolSource | undefined;
  /** Ids of the gateways that the request has passed before this one, to detect loops. */
  readonly hops?: readonly string[] | undefined;
  /** Asks the user a question of a tool that we run. Absent: questions are declined. */
  readonly elicit?: Elicit | undefined;
  /** Is told when the run reaches a phase. Absent in most cases; observing must not cost anything then. */
  readonly observer?: RunObserver | undefined;
  /** Returns the trace of the request that the run answers now, to be passed on to upstreams and tools. */
  readonly trace?: (() => TraceContext | undefined) | undefined;
  /** Called when the run ends while it waits for tool results, since nobody reads its events then. */
  readonly onLost?: () => void;
  /** Called each time that the run's request is sent, by drivers whose upstream knows conversations and accounts. */
  readonly onSent?: ((upstream: UpstreamRun) => void) | undefined;
  /** Called if the upstream reports the usage of the run after the run is over, for example since it was cancelled. */
  readonly onLateUsage?: ((usage: Usage) => void) | undefined;
  /** Called if the upstream reports an error after the answer is complete. */
  readonly onLateError?: (() => void) | undefined;
}

/** A RunContext plus what belongs to one request. */
export interface RequestContext extends RunContext {
  /** Aborted when the client is gone; the run that is being read is cancelled then. */
  readonly signal: AbortSignal;
  /** Is told the usage of every run of this request, finished or not. Absent: the usage is not counted. */
  readonly meter?: RunMeter | undefined;
}

/**
 * One live answer of an upstream: an iteration over batches of events. A batch has at least one event, and holds all that
 * arrived in one turn of the event loop, so that each hop and each write is paid per batch and not per token.
 *
 * A run has these states:
 * - *running*: the loop gives events. It ends with `done`, or throws an `ExcursorError`.
 * - *waiting*: after `done` with reason `tool-calls`. {@link submitResults} makes it run again, and a new loop over the same
 *   run gives what follows. If the upstream ends meanwhile, the run calls `context.onLost`.
 * - *over*: after any other `done`, an error, {@link cancel}, or a loop that was left early.
 */
export interface Run extends AsyncIterable<readonly TurnEvent[]> {
  /**
   * Submits the results of the tool calls that the run waits for. `history` is the conversation as the client has it now,
   * results included. Returns false if the run cannot go on: it is over, or it waits for other calls.
   */
  submitResults(results: readonly ToolMessage[], history: readonly Message[]): boolean;
  /** Ends the run and tells the upstream at once. Does nothing if the run is over. */
  cancel(): void;
}

export interface ModelInfo {
  readonly id: string;
  readonly displayName: string;
  readonly aliases: readonly string[];
  /** The size of its context window, in tokens. */
  readonly contextTokens: number;
  readonly supportsImages: boolean;
  readonly isThinking: boolean;
  /** The efforts that a request may choose, e.g. `low`, `high`. Empty if there is no choice. */
  readonly efforts: readonly string[];
}
