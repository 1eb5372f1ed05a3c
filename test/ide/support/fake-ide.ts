import vm from "node:vm";

export interface Bubble {
  readonly bubbleId: string;
  text: string;
  readonly capabilityType?: number;
  thinking?: { readonly text: string };
  thinkingDurationMs?: number;
}

/** What the IDE's class offers. */
export interface Adapter {
  handleTextDelta(text: string): void;
  sendUpdate(context: unknown, update: unknown): Promise<void>;
  dispose(): void;
}

/** The chat that an answer is written into, as far as the class knows it. */
export class FakeChat {
  readonly bubbles: Bubble[] = [];
  #generating: readonly string[] = [];

  /** The class of a bundle, evaluated in a world of its own, with this chat behind its services. */
  openAdapter(bundle: string, globals: object = { setTimeout, clearTimeout, Date, console }): Adapter {
    const script = bundle
      .replace('import*as Tq from"node:module";', "")
      .replace(/export\{zZ0[^}]*\};/, "globalThis.adapter=zZ0;");
    const context = vm.createContext({ ...globals });
    vm.runInContext(script, context);
    const AdapterClass = (context as { adapter: new (...args: unknown[]) => Adapter }).adapter;
    const service = this.#service();
    const instantiation = { invokeFunction: (work: (accessor: object) => unknown) => work({ get: () => service }) };
    return new AdapterClass(instantiation, { data: { composerId: "c" } }, undefined, {});
  }

  /** Text as it is, thoughts in brackets with their duration in seconds, tools in braces. */
  get shown(): string {
    return this.bubbles
      .map(({ text, capabilityType, thinking, thinkingDurationMs }) => {
        if (capabilityType === 15) return "{tool}";
        if (capabilityType !== 30) return text;
        return `[${thinking?.text ?? ""}]${thinkingDurationMs === undefined ? "…" : thinkingDurationMs / 1000}`;
      })
      .join("/");
  }

  #service(): object {
    const last = () => this.bubbles.at(-1);
    const set = (...path: unknown[]) => {
      const value = path.pop();
      if (path[0] === "generatingBubbleIds") this.#generating = value as string[];
      else this.#setBubble(path[1], path[2] as keyof Bubble, value);
    };
    return {
      getComposerData: () => ({ generatingBubbleIds: this.#generating }),
      getLastBubble: last,
      getLastAiBubble: last,
      appendComposerBubbles: (_: unknown, bubbles: Bubble[]) => this.bubbles.push(...bubbles),
      updateComposerDataSetStore: (_: unknown, work: (setter: typeof set) => void) => work(set),
      updateComposerBubbleSetStore: (_: unknown, id: string, work: (setter: (...path: unknown[]) => void) => void) =>
        work((key, value) => this.#setBubble(id, key as keyof Bubble, value)),
    };
  }

  #setBubble(id: unknown, key: keyof Bubble, value: unknown): void {
    const bubble = this.bubbles.find(({ bubbleId }) => bubbleId === id);
    if (!bubble) throw new Error(`no bubble ${String(id)}`);
    const next = typeof value === "function" ? (value as (before: unknown) => unknown)(bubble[key]) : value;
    Object.assign(bubble, { [key]: next });
  }
}

export const textDelta = (text: string) => ({ message: { case: "textDelta", value: { text } } });
export const thinkingDelta = (text: string) => ({ message: { case: "thinkingDelta", value: { text } } });
export const thinkingCompleted = (thinkingDurationMs: number) => ({
  message: { case: "thinkingCompleted", value: { thinkingDurationMs } },
});
export const toolCall = (callId: string) => ({
  message: { case: "toolCallStarted", value: { callId, toolCall: { tool: { case: "readToolCall" } } } },
});
export const turnEnded = () => ({ message: { case: "turnEnded", value: {} } });
