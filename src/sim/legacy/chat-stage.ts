import type { ModelDetails } from "../../gen/aiserver/v1/conversation_pb.ts";
import type { Account } from "../accounts.ts";
import type { Backend } from "../backend.ts";
import { inject, noOddities } from "../faults.ts";
import { type ClientStream, StreamGone } from "../run/client-stream.ts";
import { defaultScript, echoOf } from "../run/echo.ts";
import type { RunTrace } from "../run/run-trace.ts";
import { describeHistory, type Message, scriptOf, splitTurns } from "../script/conversation.ts";
import type { Received } from "../script/placeholders.ts";
import { type CallStep, play, type Stage } from "../script/play.ts";
import { stepsDone } from "../script/progress.ts";
import type { FaultStep } from "../script/step.ts";

/** Encodes the messages of an older chat protocol. Undefined if the protocol has no such message. */
export interface ChatEncoder {
  text(delta: string): Uint8Array;
  thinking(delta: string, isLast: boolean): Uint8Array | undefined;
  readonly tools: readonly string[];
  call(batch: readonly CallStep[]): Promise<readonly string[]>;
}

export interface ChatTurn {
  readonly messages: readonly Message[];
  readonly system: string;
  readonly model: ModelDetails | undefined;
  readonly account: Account;
  readonly backend: Backend;
  readonly clientStream: ClientStream;
  readonly trace: RunTrace;
  readonly encoder: ChatEncoder;
}

/** Answers the last turn of a chat and ends the stream. These protocols have no checkpoints and no native requests. */
export async function answerChat(chat: ChatTurn): Promise<void> {
  const { messages, account, backend } = chat;
  const turns = splitTurns(messages);
  const turn = turns.at(-1);
  const script = scriptOf(turns) ?? defaultScript(backend.options, turns.length);
  const source = script?.source ?? "";
  const stage = new ChatStage(chat, turn?.start ?? 0);
  await play(
    {
      steps: script?.steps ?? [],
      from: stepsDone(script?.steps ?? [], turn?.calls ?? []),
      results: turn?.results ?? [],
      echo: echoOf(turn?.text ?? ""),
      isDue: (index, times) => backend.tally.take(account.id, source, index, times),
    },
    stage,
  );
  backend.tally.forget(account.id, source);
  await stage.finish();
}

class ChatStage implements Stage {
  readonly received: Received;
  readonly #chat: ChatTurn;
  readonly #oddities = noOddities();
  #hasGoneOn = false;

  constructor(chat: ChatTurn, turnStart: number) {
    this.#chat = chat;
    const { messages, system, model, account, encoder } = chat;
    const images = messages.slice(turnStart).flatMap((message) => (message.role === "user" ? message.images : []));
    const reused = () => (this.#hasGoneOn ? "stream" : "fresh");
    this.received = {
      system,
      model: [model?.modelName ?? "default", ...(model?.maxMode ? ["max_mode=true"] : [])].join(" "),
      user: account.id,
      tools: encoder.tools.join(","),
      history: describeHistory(messages.slice(0, -1)),
      images: `${images.length} ${images.map(({ type, bytes }) => `${type}:${bytes}`).join(",")}`.trim(),
      get reused() {
        return reused();
      },
    };
  }

  offers(tool: string): boolean {
    return this.#chat.encoder.tools.includes(tool);
  }

  text(delta: string): Promise<void> | undefined {
    return this.#say("text", delta, this.#chat.encoder.text(delta));
  }

  thinking(delta: string): Promise<void> | undefined {
    return this.#say("thinking", delta, this.#chat.encoder.thinking(delta, false));
  }

  thinkingCompleted(): void {
    void this.#say("thinking", "", this.#chat.encoder.thinking("", true));
  }

  async call(batch: readonly CallStep[]): Promise<readonly string[]> {
    const answers = this.#chat.encoder.call(batch);
    if (this.#oddities.endsAfterCalls) this.#chat.clientStream.endUnanswered(answers);
    const results = await answers;
    this.#hasGoneOn = true;
    return results;
  }

  async exec(batch: readonly unknown[]): Promise<readonly string[]> {
    this.skip("exec: this protocol has no native requests");
    return batch.map(() => "");
  }

  async ask(): Promise<string> {
    this.skip("ask: this protocol has no queries");
    return "";
  }

  async fault(step: FaultStep): Promise<void> {
    const { clientStream } = this.#chat;
    const outcome = await inject(step, clientStream.out, this.#oddities);
    this.#chat.trace.note("fault", step.fault);
    if (outcome === "gone") throw new StreamGone();
    if (outcome === "hangs") await clientStream.hang();
  }

  sleep(ms: number): Promise<void> {
    return this.#chat.clientStream.sleep(ms);
  }

  async checkpoint(): Promise<void> {}

  skip(reason: string): void {
    this.#chat.trace.note("skip", reason);
  }

  async finish(): Promise<void> {
    const { clientStream } = this.#chat;
    if (this.#oddities.keepsOpen) await clientStream.untilGone();
    clientStream.out.end();
  }

  #say(kind: string, delta: string, bytes: Uint8Array | undefined): Promise<void> | undefined {
    if (!bytes) return undefined;
    this.#chat.trace.note(`${kind}_delta`, { text: delta }, "out");
    return this.#chat.clientStream.write(bytes);
  }
}
