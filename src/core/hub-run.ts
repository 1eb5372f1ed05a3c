import type { Run, RunContext } from "./driver.ts";
import type { TurnEvent, Usage } from "./events.ts";
import { HubTranscript } from "./hub-transcript.ts";
import { LoopGuard } from "./loop-guard.ts";
import { roundBreak } from "./round-break.ts";
import type { HubProgress, HubResult, Toolbox, ToolHub } from "./tool-hub.ts";
import type { Message, ToolMessage, Turn } from "./turn.ts";
import { addUsage } from "./usage-estimate.ts";

export interface HubRunParts {
  readonly hub: ToolHub;
  readonly turn: Turn;
  readonly context: RunContext;
  readonly open: (turn: Turn, context: RunContext) => Run;
  /** How many times in one answer the model may ask for tools of ours. */
  readonly maxSteps: number;
}

type ToolCall = Extract<TurnEvent, { readonly type: "tool-call" }>;
type Batch = readonly TurnEvent[];

/**
 * A run that is offered the tools of the hub beside the client's own. Calls of the hub's are answered here, on the
 * waiting run, and it is read on until the model has its final word; calls of the client's go out to the client. In a
 * batch of both, ours are made while the client has its own.
 *
 * Where the upstream cannot go on with results, another run is told the whole conversation: what we did is in no
 * transcript of the client's.
 */
export function hubRun({ hub, turn, context, open, maxSteps }: HubRunParts): Run {
  const life = new AbortController();
  const { signal } = life;
  const guard = new LoopGuard(maxSteps);
  const notices = new Notices();
  let offered = turn;
  let toolbox: Toolbox | undefined;
  /** What we answer; a tool of the client's of the same name is the client's. */
  let names: ReadonlySet<string> = new Set();
  let transcript = new HubTranscript(turn.messages, () => false);
  let run: Run | undefined;
  /** The hub's calls of the batch that the client has its part of. */
  let ours: Promise<readonly ToolMessage[]> = Promise.resolve([]);
  let given: { readonly results: readonly ToolMessage[]; readonly history: readonly Message[] } | undefined;
  let spent: Usage | undefined;
  /** The last text of this answer that the client was shown, and whether a round of ours came after it. */
  let lastText = "";
  let isNewRound = false;

  const start = (messages: readonly Message[]) => {
    const own: Run = open(
      { ...offered, messages },
      { ...context, onLost: () => run === own && !transcript.hasOurs && context.onLost?.() },
    );
    run = own;
    return own;
  };

  const begin = async () => {
    toolbox = await hub.open(turn.principal, signal);
    const clients = new Set(turn.tools.map(({ name }) => name));
    const tools = toolbox.tools.filter(({ name }) => !clients.has(name));
    names = new Set(tools.map(({ name }) => name));
    offered = { ...turn, tools: [...turn.tools, ...tools] };
    transcript = new HubTranscript(turn.messages, (name) => names.has(name));
    return start(turn.messages);
  };

  /** Brings results to the run, or all there is to a new one. */
  const goOn = (results: readonly ToolMessage[]): Run => {
    if (run?.answer(results, transcript.messages)) return run;
    run?.cancel();
    return start(transcript.messages);
  };

  const resume = async (): Promise<Run> => {
    if (!given) return run ?? begin();
    const { results, history } = given;
    given = undefined;
    // What came before was told with the answer before.
    spent = undefined;
    lastText = "";
    const own = await ours;
    transcript.addResults(own);
    transcript.follow(history);
    return goOn([...own, ...results]);
  };

  const call = async ({ id, name, args }: ToolCall): Promise<ToolMessage> => {
    const message = (result: HubResult): ToolMessage => ({ role: "tool", callId: id, isHubs: true, ...result });
    const warning = guard.warn(name, args);
    if (warning !== undefined || !toolbox) {
      return message({ content: [{ type: "text", text: warning ?? "" }], isError: true });
    }
    const onProgress = (progress: HubProgress) => notices.add(progressNotice(name, progress));
    const result = await toolbox.call(name, args, { signal, onProgress, elicit: context.elicit });
    guard.note(name, args, result);
    return message(result);
  };

  /** One answer of the upstream, to its end, as the client is shown it. Gives whether the next word is ours. */
  async function* readLeg(current: Run): AsyncGenerator<Batch, boolean, undefined> {
    const calls: Promise<ToolMessage>[] = [];
    const oursById = new Set<string>();
    let [isOurs, hasClients] = [false, false];
    let used: Usage | undefined;
    const separate = (event: Extract<TurnEvent, { readonly type: "text" }>): TurnEvent => {
      const text = isNewRound ? roundBreak(lastText, event.text) + event.text : event.text;
      if (event.text !== "") {
        lastText = event.text;
        isNewRound = false;
      }
      return { type: "text", text };
    };
    const show = (event: TurnEvent): readonly TurnEvent[] => {
      if (event.type === "text") return [separate(event)];
      if (event.type === "usage") {
        used = event.usage;
        return [spent ? { type: "usage", usage: addUsage(used, spent) } : event];
      }
      if (event.type === "done") {
        // Whoever is shown the end reads no further: everything has to be in its place by now.
        isOurs = event.reason === "tool-calls" && calls.length > 0 && !hasClients;
        if (event.reason === "tool-calls") transcript.endAnswer();
        ours = settle(calls);
        return isOurs ? [] : [event];
      }
      if (!("id" in event)) return [event];
      if ("name" in event && names.has(event.name)) oursById.add(event.id);
      if (!oursById.has(event.id)) {
        hasClients = true;
        return [event];
      }
      if (event.type === "tool-call") {
        if (calls.length === 0) guard.beginStep();
        calls.push(call(event));
      }
      return [];
    };
    for await (const events of current) {
      transcript.take(events);
      const shown = events.flatMap(show);
      if (shown.length > 0) yield shown;
    }
    if (isOurs && used) spent = spent ? addUsage(used, spent) : used;
    return isOurs;
  }

  return {
    async *[Symbol.asyncIterator]() {
      let current = await resume();
      for (;;) {
        if (!(yield* readLeg(current))) return;
        yield* notices.until(ours);
        const own = await ours;
        signal.throwIfAborted();
        if (guard.isHopeless) {
          current.cancel();
          yield [STOPPED, { type: "done", reason: "length" }];
          return;
        }
        transcript.addResults(own);
        isNewRound = true;
        current = goOn(own);
      }
    },
    answer(results, history) {
      given = { results, history };
      return true;
    },
    cancel() {
      life.abort();
      run?.cancel();
    },
  };
}

const STOPPED: TurnEvent = {
  type: "notice",
  code: "tool_loop",
  text: "The model went on calling tools after it was told to stop; the answer was ended.",
};

/** All results; whoever never asks for them is not told of a failure. */
function settle(calls: readonly Promise<ToolMessage>[]): Promise<readonly ToolMessage[]> {
  const all = Promise.all(calls);
  all.catch(() => {});
  return all;
}

function progressNotice(name: string, { done, total, message }: HubProgress): TurnEvent {
  const share = total === undefined ? String(done) : `${done}/${total}`;
  return { type: "notice", code: "tool_progress", text: [`${name}: ${share}`, message].filter(Boolean).join(" ") };
}

/** What is told while calls are under way, no more of it than is read. */
class Notices {
  #latest: TurnEvent | undefined;
  #wake: () => void = () => {};

  add(notice: TurnEvent): void {
    this.#latest = notice;
    this.#wake();
  }

  async *until(end: Promise<unknown>): AsyncGenerator<Batch, void, undefined> {
    let isOver = false;
    const over = end
      .catch(() => {})
      .then(() => {
        isOver = true;
      });
    for (;;) {
      const added = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      if (!this.#latest && !isOver) await Promise.race([added, over]);
      const latest = this.#latest;
      this.#latest = undefined;
      if (isOver) return;
      if (latest) yield [latest];
    }
  }
}
