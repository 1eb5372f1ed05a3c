import { unlessAborted } from "../abort-race.ts";
import type { Run, RunContext } from "../driver.ts";
import type { HubCallLog } from "../engine/call-log.ts";
import { ExcursorError } from "../errors.ts";
import type { TurnEvent, Usage } from "../events.ts";
import { awaitedLater } from "../ignored-failures.ts";
import { addUsage } from "../rules/usage-estimate.ts";
import type { AssistantMessage, Message, ToolMessage, Turn } from "../turn.ts";
import type { HubAnswer, MakeCall } from "./hub-answer.ts";
import { HubCaller } from "./hub-caller.ts";
import type { HubMemory } from "./hub-memory.ts";
import { HubTranscript } from "./hub-transcript.ts";
import { RoundText } from "./round-text.ts";
import type { ToolHub } from "./tool-hub.ts";

export interface HubRunParts {
  readonly hub: ToolHub;
  /** Shared by all runs. */
  readonly memory: HubMemory;
  readonly turn: Turn;
  readonly context: RunContext;
  /** Opens a run of the driver. */
  readonly open: (turn: Turn, context: RunContext) => Run;
  /** Returns the id that a call has for the client. */
  readonly nameOf: (id: string) => string;
  /** How many rounds of hub calls one answer may have. */
  readonly maxSteps: number;
  readonly callLog?: HubCallLog | undefined;
}

type Batch = readonly TurnEvent[];
type Done = Extract<TurnEvent, { readonly type: "done" }>;

/** What one read of the upstream up to its `done` has shown so far. */
interface HubRound {
  readonly hubCallIds: Set<string>;
  /** The leg ended in hub calls only: the run goes on with their results. */
  goesOn: boolean;
  used: Usage | undefined;
}

/**
 * A run that is offered hub tools beside the client's own. It makes hub calls itself, submits their results to the upstream
 * and reads on, until the model finishes or calls a tool of the client. Client calls go out to the client; in a round of
 * both, hub calls run while the client works on its own.
 *
 * A hub call is made once for a request. A repeated request gets the stored rounds of its answer, joins the rounds that
 * another run is making, and continues after them. If the upstream cannot resume with results, a new run is opened with
 * the whole conversation, hub calls included.
 */
export class HubRun implements Run {
  readonly #parts: HubRunParts;
  readonly #caller: HubCaller;
  readonly #abort = new AbortController();
  readonly #words = new RoundText();
  readonly #holds = new Set<() => void>();
  /** The turn with the hub's tools; undefined until the hub is open. */
  #offered: Turn | undefined;
  /** Names of hub tools. A client tool of the same name wins. */
  #hubNames: ReadonlySet<string> = new Set();
  #transcript: HubTranscript;
  #run: Run | undefined;
  /** What the hub did in the conversation before. */
  readonly #recalled: ReturnType<HubMemory["recall"]>;
  /** Undefined until the store has been asked. */
  #answer: HubAnswer | undefined;
  #opening: Promise<void> | undefined;
  /** This run writes the answer; others with the same request read along. */
  #isWriting = false;
  /** Results of the hub calls in the last round. */
  #hubResults: Promise<readonly ToolMessage[]> = Promise.resolve([]);
  #submitted: { readonly results: readonly ToolMessage[]; readonly history: readonly Message[] } | undefined;
  /** Usage of the legs before this one, in the same answer. */
  #spent: Usage | undefined;

  constructor(parts: HubRunParts) {
    this.#parts = parts;
    this.#caller = new HubCaller(parts);
    this.#transcript = new HubTranscript({ messages: parts.turn.messages, isHubTool: (name) => this.#isHubTool(name) });
    this.#open(parts.turn);
    // At the same time, so that a store on another machine is asked once.
    this.#recalled = awaitedLater(parts.memory.recall(parts.turn, this.#abort.signal));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Batch, void, undefined> {
    let isDone = false;
    try {
      for await (const events of this.#read()) {
        const last = events.at(-1);
        if (last?.type === "done") {
          isDone = true;
          this.#stopWriting();
          const stored = this.#answer?.stored;
          if (stored) await stored;
          // While the client works on its calls, hub calls of the same round continue.
          if (last.reason !== "tool-calls") this.#release();
        }
        yield events;
      }
    } finally {
      if (!isDone) {
        this.#stopWriting();
        this.#release();
      }
    }
  }

  submitResults(results: readonly ToolMessage[], history: readonly Message[]): boolean {
    const { turn } = this.#parts;
    this.#submitted = { results, history };
    this.#answer?.settle();
    // The answer before is held until its hub results have arrived.
    this.#open({ ...turn, messages: history });
    return true;
  }

  cancel(): void {
    this.#abort.abort();
    this.#run?.cancel();
    this.#stopWriting();
    this.#release();
  }

  /** Finds the answer to a turn and holds it: at once, or as soon as the store has been asked. */
  #open(turn: Turn): void {
    const answer = this.#parts.memory.answerTo(turn, this.#abort.signal);
    if (!(answer instanceof Promise)) {
      this.#hold(answer);
      return;
    }
    this.#opening = awaitedLater(
      answer.then((found) => {
        this.#hold(found);
        if (this.#abort.signal.aborted) this.#release();
      }),
    );
  }

  #hold(answer: HubAnswer): void {
    this.#answer = answer;
    this.#holds.add(answer.hold());
  }

  get #current(): HubAnswer {
    if (this.#answer) return this.#answer;
    throw new ExcursorError("internal", "The hub's answer is not open yet.");
  }

  async *#read(): AsyncGenerator<Batch, void, undefined> {
    if (this.#opening) await this.#wait(this.#opening);
    this.#opening = undefined;
    if (!this.#offered) this.#offered = await this.#openHub();
    if (this.#submitted) yield* this.#untilHubResults();
    const results = await this.#takeSubmitted();
    const replayed = yield* this.#replay();
    if (replayed === undefined) return;
    if (replayed > 0) this.#run?.cancel();
    let current = replayed > 0 || !this.#run ? this.#start(this.#offered) : this.#goOn(this.#offered, results);
    while (yield* this.#readLeg(current)) {
      yield* this.#untilHubResults();
      const own = await this.#wait(this.#hubResults);
      if (this.#caller.guard.isStuck) {
        current.cancel();
        this.#current.finish({ text: "", reason: "length" }, this.#transcript.endAnswer().historyKey);
        yield [STOPPED, { type: "done", reason: "length" }];
        return;
      }
      this.#transcript.addResults(own);
      this.#words.endRound();
      current = this.#goOn(this.#offered, own);
    }
  }

  /** Returns the turn with the hub's tools. */
  async #openHub(): Promise<Turn> {
    const { hub, turn, nameOf } = this.#parts;
    const toolbox = await hub.open(turn.principal, this.#abort.signal);
    const clientNames = new Set(turn.tools.map(({ name }) => name));
    const tools = toolbox.tools.filter(({ name }) => !clientNames.has(name));
    this.#caller.use(toolbox);
    this.#hubNames = new Set(tools.map(({ name }) => name));
    const recalled = await this.#wait(this.#recalled);
    const { messages, allowsParallelCalls } = turn;
    const isHubTool = (name: string) => this.#isHubTool(name);
    this.#transcript = new HubTranscript({ messages, recalled, isHubTool, nameOf, isOneByOne: !allowsParallelCalls });
    return { ...turn, tools: [...turn.tools, ...tools] };
  }

  /** Returns all results that the upstream waits for: those of the client and those of the hub. */
  async #takeSubmitted(): Promise<readonly ToolMessage[]> {
    if (!this.#submitted) return [];
    const { results, history } = this.#submitted;
    const own = await this.#wait(this.#hubResults);
    this.#release(1);
    this.#submitted = undefined;
    // The usage so far was reported with the answer before.
    this.#spent = undefined;
    this.#words.begin();
    this.#transcript.addResults(own);
    this.#transcript.follow(history);
    return [...own, ...results];
  }

  /**
   * Shows the stored rounds of the answer, and the rounds that another run adds meanwhile. Returns their number once this
   * run is the one to continue, or undefined if the answer is complete.
   */
  async *#replay(): AsyncGenerator<Batch, number | undefined, undefined> {
    for (let at = 0; ; ) {
      const said = this.#current.rounds[at];
      if (said) {
        const events = said.content.flatMap((part): Batch => {
          if (part.type === "text") return [this.#words.show(part.text)];
          return part.type === "tool-call" && !part.isHubs ? [part] : [];
        });
        this.#transcript.take(partsAsEvents(said));
        const round = this.#transcript.endRound();
        this.#hubResults = this.#current.resultsOf(at);
        if (round.historyKey !== undefined) {
          this.#copyEnd(at, round.said, round.historyKey);
          yield [...events, { type: "done", reason: "tool-calls" }];
          return undefined;
        }
        at++;
        if (events.length > 0) yield events;
        this.#caller.guard.beginStep();
        yield* this.#untilHubResults();
        this.#transcript.addResults(await this.#wait(this.#hubResults));
        this.#words.endRound();
      } else if (this.#current.end) {
        const { text, reason } = this.#current.end;
        yield [...(text === "" ? [] : [this.#words.show(text)]), { type: "done", reason }];
        return undefined;
      } else if (this.#current.claim()) {
        this.#isWriting = true;
        return at;
      } else await this.#wait(this.#current.changed);
    }
  }

  /** The client gets new ids for its calls, so a replayed answer that ends in client calls is stored as another one. */
  #copyEnd(at: number, said: AssistantMessage, historyKey: string): void {
    const results = this.#hubResults;
    this.#hold(this.#parts.memory.copy(this.#current, at));
    this.#addRound(said, async ({ id }) => findResult(await results, id));
    this.#current.finish({ text: "", reason: "tool-calls" }, historyKey);
  }

  /** Reads the upstream to its `done`, without hub calls. Returns true if the run goes on with their results. */
  async *#readLeg(run: Run): AsyncGenerator<Batch, boolean, undefined> {
    const leg: HubRound = { hubCallIds: new Set(), goesOn: false, used: undefined };
    for await (const events of run) {
      // Before it is shown: the end of a leg sums up what came before it.
      this.#transcript.take(events);
      const shown = events.flatMap((event) => this.#show(event, leg));
      if (shown.length > 0) yield shown;
    }
    const { goesOn, used } = leg;
    if (goesOn && used) this.#spent = this.#spent ? addUsage(used, this.#spent) : used;
    return goesOn;
  }

  #show(event: TurnEvent, leg: HubRound): Batch {
    if (event.type === "text") return [this.#words.show(event.text)];
    if (event.type === "usage") {
      leg.used = event.usage;
      return [this.#spent ? { type: "usage", usage: addUsage(event.usage, this.#spent) } : event];
    }
    if (event.type === "done") return this.#endLeg(event, leg);
    if (!("id" in event)) return [event];
    if ("name" in event && this.#isHubTool(event.name)) leg.hubCallIds.add(event.id);
    return leg.hubCallIds.has(event.id) ? [] : [event];
  }

  /** The reader stops at `done`, so the round is stored and its hub calls are started before that is shown. */
  #endLeg(event: Done, leg: HubRound): Batch {
    const { reason } = event;
    if (reason !== "tool-calls") {
      const { text, historyKey } = this.#transcript.endAnswer();
      this.#current.finish({ text, reason }, historyKey);
      return [event];
    }
    const { said, historyKey } = this.#transcript.endRound();
    const hasHubCalls = said.content.some((part) => part.type === "tool-call" && part.isHubs);
    this.#hubResults = Promise.resolve([]);
    if (hasHubCalls) this.#caller.guard.beginStep();
    if (hasHubCalls || this.#current.rounds.length > 0) {
      this.#addRound(said, (call, signal) => this.#caller.call(call, signal));
    }
    if (historyKey !== undefined) this.#current.finish({ text: "", reason }, historyKey);
    leg.goesOn = hasHubCalls && historyKey === undefined;
    return leg.goesOn ? [] : [event];
  }

  #addRound(said: AssistantMessage, make: MakeCall): void {
    this.#current.addRound(said, make);
    this.#hubResults = this.#current.resultsOf(this.#current.rounds.length - 1);
  }

  /** Submits results to the upstream, or opens a new run with the whole conversation. */
  #goOn(offered: Turn, results: readonly ToolMessage[]): Run {
    if (this.#run?.submitResults(results, this.#transcript.messages)) return this.#run;
    this.#run?.cancel();
    return this.#start(offered);
  }

  #start(offered: Turn): Run {
    const { open, context } = this.#parts;
    // Of a conversation with hub calls nothing is lost with its run: a new one gets all of it.
    const onLost = () => this.#run === run && !this.#transcript.hasHubCalls && context.onLost?.();
    const run: Run = open({ ...offered, messages: this.#transcript.messages }, { ...context, onLost });
    this.#run = run;
    return run;
  }

  /** Yields notices of hub calls until all of them have a result. */
  #untilHubResults(): AsyncGenerator<Batch, void, undefined> {
    return this.#caller.notices.until(this.#wait(this.#hubResults));
  }

  #wait<T>(work: Promise<T>): Promise<T> {
    return unlessAborted(work, this.#abort.signal);
  }

  #isHubTool(name: string): boolean {
    return this.#hubNames.has(name);
  }

  #stopWriting(): void {
    if (this.#isWriting) this.#answer?.leave();
    this.#isWriting = false;
  }

  /** Releases all answers that are held but the last `keep`. */
  #release(keep = 0): void {
    for (const release of [...this.#holds].slice(0, this.#holds.size - keep)) {
      this.#holds.delete(release);
      release();
    }
  }
}

const STOPPED: TurnEvent = {
  type: "notice",
  code: "tool_loop",
  text: "The model kept calling tools after it was told to stop. The answer was ended.",
};

function findResult(results: readonly ToolMessage[], id: string): ToolMessage {
  const result = results.find(({ callId }) => callId === id);
  if (result) return result;
  throw new ExcursorError("internal", "A hub call has no result.");
}

const partsAsEvents = ({ content }: AssistantMessage): Batch =>
  content.filter((part) => part.type === "text" || part.type === "tool-call");
