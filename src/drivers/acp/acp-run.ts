import { randomUUID } from "node:crypto";
import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { Question } from "../../core/activity.ts";
import type { Run, RunContext } from "../../core/driver.ts";
import { RunChannel } from "../../core/engine/run/run-channel.ts";
import { CANCELED, ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent } from "../../core/events.ts";
import { awaitedLater } from "../../core/ignored-failures.ts";
import type { OwnerPrompts } from "../../core/owner-prompts.ts";
import type { JsonObject, Turn } from "../../core/turn.ts";
import type { Agent, Lease } from "./agent/agent.ts";
import { agentSilent } from "./agent/agent-errors.ts";
import type { AgentProcess, SessionListener } from "./agent/agent-process.ts";
import type { AgentSession, AgentSessionStore } from "./agent/agent-session-store.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { answerPermission, CANCELLED, decidePermission } from "./decide-permission.ts";
import type { AgentLimits } from "./limits.ts";
import { openSession } from "./open-session.ts";
import { promptBlocks } from "./prompt-blocks.ts";
import type { AgentUpdate } from "./read-update.ts";
import { UpdateEvents } from "./update-events.ts";

export interface AcpRunParts {
  readonly turn: Turn;
  readonly context: RunContext;
  readonly agent: Agent;
  readonly settings: AgentSettings;
  /** One of the agent's own models. */
  readonly model: string | undefined;
  readonly sessions: AgentSessionStore;
  readonly limits: AgentLimits;
  /** Asks the owner, if the turn's client cannot show questions. */
  readonly prompts: OwnerPrompts | undefined;
}

/** One turn of an agent: one prompt. The agent runs its tools itself, so the run is never parked. */
export class AcpRun implements Run {
  readonly #parts: AcpRunParts;
  readonly #channel: RunChannel;
  readonly #events: UpdateEvents;
  readonly #questions = new Map<string, (answer: RequestPermissionResponse) => void>();
  #lease: Lease | undefined;
  #session: AgentSession | undefined;
  readonly #stopped = Promise.withResolvers<boolean>();
  readonly #leftBehind = Promise.withResolvers<undefined>();
  #isHolding = false;
  #said = "";
  #silence: NodeJS.Timeout | undefined;

  constructor(parts: AcpRunParts) {
    this.#parts = parts;
    this.#events = new UpdateEvents(parts.turn.showsActivity === true);
    this.#channel = new RunChannel({
      onPressure: (isFull) => this.#hold(isFull),
      onOver: () => {
        clearTimeout(this.#silence);
        for (const settle of [...this.#questions.values()]) settle(CANCELLED);
        this.#hold(false);
      },
      onLeave: () => this.cancel(),
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly TurnEvent[]> {
    return this.#channel[Symbol.asyncIterator]();
  }

  /** An agent never waits for results of the client. */
  submitResults(): boolean {
    return false;
  }

  cancel(): void {
    this.#breakOff(CANCELED);
  }

  get #isOver(): boolean {
    return this.#channel.phase === "over";
  }

  /** Sends the prompt. Never rejects: a failure ends the run. */
  async start(): Promise<void> {
    const { agent, turn } = this.#parts;
    try {
      const lease = await agent.lease();
      this.#lease = lease;
      if (this.#isOver) return;
      const { process } = lease;
      const { id, known } = await this.#findSession(process);
      const blocks = promptBlocks(turn, known, process.capabilities.promptCapabilities);
      if (this.#isOver) {
        process.closeSession(id);
        return;
      }
      if (turn.tools.length > 0) this.#push([TOOLS_UNUSED]);
      this.#session = { id, process };
      this.#listenForSilence();
      const listener: SessionListener = {
        update: (update) => this.#onUpdate(update),
        ask: (request) => this.#ask(request),
      };
      await this.#untilStopped(process.prompt(id, blocks, listener));
    } catch (error) {
      // Keeps the session: the agent may know more of the conversation than a replay could tell.
      if (this.#session && !this.#isOver) this.#parts.sessions.keep(this.#session, turn, this.#said, false);
      this.#channel.fail(ExcursorError.from(error));
    } finally {
      this.#stopped.resolve(false);
      this.#lease?.release();
    }
  }

  /** Returns the session of this conversation, resumed in this process if needed, or a new one. */
  async #findSession(process: AgentProcess): Promise<{ readonly id: string; readonly known: number | undefined }> {
    const { settings, turn, model, sessions } = this.#parts;
    const found = sessions.take(turn);
    if (found && (await found.session.stopped) !== false) {
      const { id } = found.session;
      if (found.session.process === process || (await process.resumeSession(id))) return { id, known: found.known };
    }
    return { id: await openSession(process, settings.name, model), known: undefined };
  }

  /** Waits for the end of the prompt. An agent that ignores a cancellation is abandoned or ended. */
  async #untilStopped(prompt: Promise<string>): Promise<void> {
    const { agent, sessions, turn } = this.#parts;
    const reason = await Promise.race([prompt, this.#leftBehind.promise]);
    this.#stopped.resolve(reason !== undefined);
    if (reason === undefined) {
      void awaitedLater(prompt);
      if (!agent.isShared) await this.#lease?.process.end();
      return;
    }
    if (this.#isOver || !this.#session) return;
    sessions.keep(this.#session, turn, this.#said, reason !== "cancelled");
    this.#end(reason);
  }

  /** Ends the turn for the client and cancels it at the agent. The session is kept for the next turn. */
  #breakOff(error: ExcursorError): void {
    if (this.#isOver) return;
    this.#channel.fail(error);
    const session = this.#session;
    if (!session) return;
    const { sessions, turn, limits } = this.#parts;
    session.process.cancel(session.id);
    sessions.keep({ ...session, stopped: this.#stopped.promise }, turn, this.#said, false);
    setTimeout(() => this.#leftBehind.resolve(undefined), limits.cancelMs).unref();
  }

  #onUpdate(update: AgentUpdate): void {
    if (this.#isOver) return;
    this.#listenForSilence();
    const events = this.#events.step(update);
    for (const event of events) if (event.type === "text") this.#said += event.text;
    this.#push(events);
  }

  #ask(request: RequestPermissionRequest): RequestPermissionResponse | Promise<RequestPermissionResponse> {
    const { turn, settings, limits, prompts } = this.#parts;
    if (this.#isOver || this.#questions.size >= MAX_QUESTIONS) return CANCELLED;
    const canAsk = turn.showsActivity === true || prompts?.canAsk === true;
    const decision = decidePermission(request, settings.permissions, canAsk);
    if (decision !== "ask") return decision;
    clearTimeout(this.#silence);
    return new Promise((resolve) => {
      const id = randomUUID();
      const settle = (answer: RequestPermissionResponse) => {
        if (!this.#questions.delete(id)) return;
        clearTimeout(timer);
        prompts?.withdraw(id);
        if (!this.#isOver) this.#listenForSilence();
        resolve(answer);
      };
      const timer = setTimeout(() => settle(answerPermission(request, undefined)), limits.answerMs).unref();
      this.#questions.set(id, settle);
      const { toolCall, options } = request;
      const question: Question = {
        type: "question",
        id,
        title: toolCall.title ?? toolCall.kind ?? "A tool",
        options: options.map(({ optionId, name, kind }) => ({ id: optionId, name, kind })),
        detail: toolCall as unknown as JsonObject,
        answer: (optionId) => settle(answerPermission(request, optionId)),
      };
      this.#push(this.#events.interrupt());
      if (turn.showsActivity) this.#push([{ type: "activity", activity: question }]);
      else prompts?.add({ from: settings.name, question });
    });
  }

  #listenForSilence(): void {
    const { settings, limits } = this.#parts;
    clearTimeout(this.#silence);
    this.#silence = setTimeout(
      () => this.#breakOff(agentSilent(settings.name, "said nothing", limits.silentMs)),
      limits.silentMs,
    ).unref();
  }

  #end(reason: string): void {
    if (reason === "cancelled") {
      this.#channel.fail(
        new ExcursorError("canceled", `The agent "${this.#parts.settings.name}" ended its answer early.`),
      );
      return;
    }
    const known = REASONS.get(reason);
    if (known === undefined) this.#push([unknownReason(reason)]);
    this.#push([...this.#events.end(), { type: "done", reason: known ?? "stop" }]);
    this.#channel.end();
  }

  #push(events: readonly TurnEvent[]): void {
    for (const event of events) this.#channel.push(event);
  }

  #hold(isFull: boolean): void {
    if (isFull === this.#isHolding || (isFull && this.#isOver)) return;
    this.#isHolding = isFull;
    const pipe = this.#lease?.process.pipe;
    if (isFull) pipe?.hold();
    else pipe?.release();
  }
}

const MAX_QUESTIONS = 100;

const REASONS: ReadonlyMap<string, DoneReason> = new Map([
  ["end_turn", "stop"],
  ["max_tokens", "length"],
  ["max_turn_requests", "length"],
  ["refusal", "content-filter"],
]);

/** A notice for a stop reason that only newer agents know. */
const unknownReason = (reason: string): TurnEvent => ({
  type: "notice",
  code: "agent_stop_reason",
  text: `The agent ended its turn for a reason that Excursor does not know: ${JSON.stringify(reason.slice(0, 64))}.`,
});

const TOOLS_UNUSED: TurnEvent = {
  type: "notice",
  code: "agent_has_own_tools",
  text: "Agents run their own tools. The tools of the request were not offered to the agent.",
};
