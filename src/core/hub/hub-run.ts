import type { Run, RunContext } from "../driver.ts";
import type { HubCallEntry, HubCallLog } from "../engine/call-log.ts";
import { ExcursorError } from "../errors.ts";
import type { TurnEvent, Usage } from "../events.ts";
import { LoopGuard } from "../rules/loop-guard.ts";
import { addUsage } from "../rules/usage-estimate.ts";
import type { AssistantMessage, Message, ToolCallPart, ToolMessage, Turn } from "../turn.ts";
import type { HubAnswer, HubMemory, MakeCall } from "./hub-memory.ts";
import { HubNotices, type HubOutcome } from "./hub-notices.ts";
import { HubTranscript } from "./hub-transcript.ts";
import { RoundText } from "./round-text.ts";
import type { HubProgress, HubResult, Toolbox, ToolHub } from "./tool-hub.ts";

export interface HubRunParts {
  readonly hub: ToolHub;
  /** Shared by all runs. */
  readonly memory: HubMemory;
  readonly turn: Turn;
  readonly context: RunContext;
  readonly open: (turn: Turn, context: RunContext) => Run;
  /** The name that a call has for the client. */
  readonly nameOf: (id: string) => string;
  /** How many times in one answer the model may ask for tools of the hub. */
  readonly maxSteps: number;
  /** Told of everything that happens to a call of the hub. */
  readonly callLog?: HubCallLog | undefined;
}

type Batch = readonly TurnEvent[];

/**
 * A run that is offered the tools of the hub beside the client's own. Calls of the hub's are made here, on the waiting run, and
 * it is read on until the model has its final word; calls of the client's go out to the client. In a batch of both, the
 * hub's are made while the client has its own.
 *
 * Each call of the hub's is made once for a request: a repeated request gets the rounds that are kept of its answer, joins
 * those that are under way, and goes on behind them. Where the upstream cannot go on with results, another run is told
 * the whole conversation, the hub's part included.
 */
export function hubRun({ hub, memory, turn, context, open, nameOf, maxSteps, callLog }: HubRunParts): Run {
  const life = new AbortController();
  const { signal } = life;
  const guard = new LoopGuard(maxSteps);
  const notices = new HubNotices(turn.showsActivity === true);
  const words = new RoundText();
  let offered = turn;
  let toolbox: Toolbox | undefined;
  /** What the hub answers; a tool of the client's of the same name is the client's. */
  let names: ReadonlySet<string> = new Set();
  const isOurs = (name: string) => names.has(name);
  let transcript = new HubTranscript({ messages: turn.messages, isOurs });
  let run: Run | undefined;
  let answer: HubAnswer = memory.answerTo(turn);
  let isWriting = false;
  const holds = new Set([answer.hold()]);
  /** Lets go of all answers but the last so many. */
  const release = (keep = 0): void => {
    for (const hold of [...holds].slice(0, holds.size - keep)) {
      holds.delete(hold);
      hold();
    }
  };
  /** Results of the hub's calls in the batch that the client has its part of. */
  let ours: Promise<readonly ToolMessage[]> = Promise.resolve([]);
  let given: { readonly results: readonly ToolMessage[]; readonly history: readonly Message[] } | undefined;
  let spent: Usage | undefined;

  const start = (): Run => {
    const own: Run = open(
      { ...offered, messages: transcript.messages },
      { ...context, onLost: () => run === own && !transcript.hasOurs && context.onLost?.() },
    );
    run = own;
    return own;
  };

  /** Brings results to the run, or the whole conversation to a new one. */
  const goOn = (results: readonly ToolMessage[]): Run => {
    if (run?.submitResults(results, transcript.messages)) return run;
    run?.cancel();
    return start();
  };

  const begin = async (): Promise<void> => {
    toolbox = await hub.open(turn.principal, signal);
    const clients = new Set(turn.tools.map(({ name }) => name));
    const tools = toolbox.tools.filter(({ name }) => !clients.has(name));
    names = new Set(tools.map(({ name }) => name));
    offered = { ...turn, tools: [...turn.tools, ...tools] };
    const recalled = await unlessAborted(memory.recall(turn), signal);
    const { messages, allowsParallelCalls } = turn;
    transcript = new HubTranscript({ messages, recalled, isOurs, nameOf, isOneByOne: !allowsParallelCalls });
  };

  /** Takes what the client has brought. Gives all results that the run waits for. */
  const takeGiven = async (): Promise<readonly ToolMessage[]> => {
    if (!given) return [];
    const { results, history } = given;
    const own = await unlessAborted(ours, signal);
    release(1);
    given = undefined;
    // What was spent before was told with the answer before.
    spent = undefined;
    words.begin();
    transcript.addResults(own);
    transcript.follow(history);
    return [...own, ...results];
  };

  const call = async ({ id, name, args }: ToolCallPart, callSignal: AbortSignal): Promise<ToolMessage> => {
    const message = (result: HubResult): ToolMessage => ({ role: "tool", callId: id, isHubs: true, ...result });
    const record = (type: HubCallEntry["type"], facts: Partial<HubCallEntry> = {}): void => {
      const place = toolbox?.placeOf(name, args);
      const { requestId } = context;
      callLog?.({ type, callId: id, tool: name, ...place, principalId: turn.principal.id, requestId, ...facts });
    };
    record("asked");
    const warning = guard.warn(name, args);
    if (warning !== undefined || !toolbox) {
      record("finished", { outcome: "refused" });
      return message({ content: [{ type: "text", text: warning ?? "" }], isError: true });
    }
    const startedAt = performance.now();
    const finish = (outcome: HubOutcome, bytes?: number): void => {
      const ms = performance.now() - startedAt;
      record("finished", { outcome, ms: Math.round(ms), ...(bytes !== undefined && { bytes }) });
      notices.finished(id, name, outcome, ms);
    };
    record("started");
    notices.started(id, name);
    try {
      const onProgress = (progress: HubProgress) => notices.progress(id, name, progress);
      const result = await toolbox.call(name, args, { signal: callSignal, onProgress, elicit: context.elicit });
      guard.note(name, args, result);
      finish(result.isError ? "error" : "ok", bytesOf(result));
      return message(result);
    } catch (error) {
      finish("canceled");
      throw error;
    }
  };

  const addRound = (said: AssistantMessage, make: MakeCall): void => {
    answer.addRound(said, make);
    ours = answer.resultsOf(answer.rounds.length - 1);
  };

  /** One answer of the upstream, to its end, as the client is shown it. Gives whether the next word is the hub's. */
  async function* readLeg(current: Run): AsyncGenerator<Batch, boolean, undefined> {
    const oursById = new Set<string>();
    let isNext = false;
    let used: Usage | undefined;
    /** Whoever is shown the end reads no further, so everything has to be in its place by then. */
    const end = (event: Extract<TurnEvent, { readonly type: "done" }>): Batch => {
      const { reason } = event;
      if (reason !== "tool-calls") {
        const { text, historyKey } = transcript.endAnswer();
        answer.finish({ text, reason }, historyKey);
        return [event];
      }
      const { said, historyKey } = transcript.endRound();
      const hasOurs = said.content.some((part) => part.type === "tool-call" && part.isHubs);
      ours = Promise.resolve([]);
      if (hasOurs) guard.beginStep();
      if (hasOurs || answer.rounds.length > 0) addRound(said, call);
      if (historyKey !== undefined) answer.finish({ text: "", reason }, historyKey);
      isNext = hasOurs && historyKey === undefined;
      return isNext ? [] : [event];
    };
    const show = (event: TurnEvent): Batch => {
      if (event.type === "text") return [words.show(event.text)];
      if (event.type === "usage") {
        used = event.usage;
        return [spent ? { type: "usage", usage: addUsage(used, spent) } : event];
      }
      if (event.type === "done") return end(event);
      if (!("id" in event)) return [event];
      if ("name" in event && names.has(event.name)) oursById.add(event.id);
      return oursById.has(event.id) ? [] : [event];
    };
    for await (const events of current) {
      // Before it is shown: the end of a batch sums up what came before it.
      transcript.take(events);
      const shown = events.flatMap(show);
      if (shown.length > 0) yield shown;
    }
    if (isNext && used) spent = spent ? addUsage(used, spent) : used;
    return isNext;
  }

  /**
   * Shows what is kept of the answer, and what another run adds to it meanwhile. Gives how many rounds there were, or
   * undefined if it came to the end.
   */
  async function* replay(): AsyncGenerator<Batch, number | undefined, undefined> {
    for (let at = 0; ; ) {
      const said = answer.rounds[at];
      if (said) {
        const events = said.content.flatMap((part): Batch => {
          if (part.type === "text") return [words.show(part.text)];
          return part.type === "tool-call" && !part.isHubs ? [part] : [];
        });
        transcript.take(partsAsEvents(said));
        const shown = transcript.endRound();
        ours = answer.resultsOf(at);
        if (shown.historyKey !== undefined) {
          // The client gets new names for its calls, so this is another end of the same answer.
          const results = ours;
          answer = memory.copy(answer, at);
          holds.add(answer.hold());
          addRound(shown.said, async ({ id }) => found(await results, id));
          answer.finish({ text: "", reason: "tool-calls" }, shown.historyKey);
          yield [...events, { type: "done", reason: "tool-calls" }];
          return undefined;
        }
        at++;
        if (events.length > 0) yield events;
        guard.beginStep();
        yield* notices.until(unlessAborted(ours, signal));
        transcript.addResults(await unlessAborted(ours, signal));
        words.endRound();
      } else if (answer.end) {
        const { text, reason } = answer.end;
        const last = text === "" ? [] : [words.show(text)];
        yield [...last, { type: "done", reason }];
        return undefined;
      } else if (answer.claim()) {
        isWriting = true;
        return at;
      } else await unlessAborted(answer.changed, signal);
    }
  }

  const leave = (): void => {
    if (isWriting) answer.leave();
    isWriting = false;
  };

  async function* read(): AsyncGenerator<Batch, void, undefined> {
    if (!toolbox) await begin();
    if (given) yield* notices.until(unlessAborted(ours, signal));
    const results = await takeGiven();
    const replayed = yield* replay();
    if (replayed === undefined) return;
    if (replayed > 0) run?.cancel();
    let current = replayed > 0 || !run ? start() : goOn(results);
    for (;;) {
      if (!(yield* readLeg(current))) return;
      yield* notices.until(unlessAborted(ours, signal));
      const own = await unlessAborted(ours, signal);
      if (guard.isHopeless) {
        current.cancel();
        answer.finish({ text: "", reason: "length" }, transcript.endAnswer().historyKey);
        yield [STOPPED, { type: "done", reason: "length" }];
        return;
      }
      transcript.addResults(own);
      words.endRound();
      current = goOn(own);
    }
  }

  return {
    async *[Symbol.asyncIterator]() {
      let isDone = false;
      try {
        for await (const events of read()) {
          const last = events.at(-1);
          if (last?.type === "done") {
            isDone = true;
            leave();
            // The client's part is awaited: the hub's calls go on meanwhile.
            if (last.reason !== "tool-calls") release();
          }
          yield events;
        }
      } finally {
        if (!isDone) {
          leave();
          release();
        }
      }
    },
    submitResults(results, history) {
      given = { results, history };
      answer.settle();
      // The one before is held until its results are here.
      answer = memory.answerTo({ ...turn, messages: history });
      holds.add(answer.hold());
      return true;
    },
    cancel() {
      life.abort();
      run?.cancel();
      leave();
      release();
    },
  };
}

const STOPPED: TurnEvent = {
  type: "notice",
  code: "tool_loop",
  text: "The model went on calling tools after it was told to stop; the answer was ended.",
};

function found(results: readonly ToolMessage[], id: string): ToolMessage {
  const result = results.find(({ callId }) => callId === id);
  if (result) return result;
  throw new ExcursorError("internal", "A call of the hub's has no result.");
}

const bytesOf = ({ content }: HubResult): number =>
  content.reduce((sum, part) => sum + (part.type === "text" ? Buffer.byteLength(part.text) : part.data.length), 0);

const partsAsEvents = ({ content }: AssistantMessage): Batch =>
  content.filter((part) => part.type === "text" || part.type === "tool-call");

/** Rejects when the signal aborts; the work itself goes on. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => {});
  if (signal.aborted) return Promise.reject(signal.reason);
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  return promise;
}
