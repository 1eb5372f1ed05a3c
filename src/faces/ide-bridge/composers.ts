import { randomUUID } from "node:crypto";
import type { Question } from "../../core/activity.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { AssistantMessage, Message, Principal, UserMessage } from "../../core/turn.ts";
import type { KeyValues } from "../shared/face-module.ts";

/** A conversation of the IDE. Its client sends only the newest message, so the history is kept here. */
interface Composer {
  readonly sessionId: string;
  readonly messages: Message[];
  imageBytes: number;
  current: { readonly turn: ComposerTurn; readonly abort: AbortController } | undefined;
}

type KeptComposer = Pick<Composer, "sessionId" | "messages">;

export interface ComposerTurn {
  /** The conversation with the newest message. */
  readonly messages: readonly Message[];
  /** Aborted when a request cancels the turn. */
  readonly signal: AbortSignal;
  /** Registers a question that was shown to the user. */
  ask(question: Question): void;
  say(text: string): void;
  /** Ends the turn. Its text becomes history, complete or not. */
  end(): void;
}

const COMPOSERS = 256;
const MESSAGES = 2000;

/** Limit on the images in memory. Above it, the images of the least recently used conversations are dropped. */
const IMAGE_BYTES = 64 * 1024 * 1024;

export class Composers {
  /** In order of use. */
  readonly #composers = new BoundedMap<string, Composer>(COMPOSERS, {
    isBusy: ({ current }) => current !== undefined,
    onEvicted: (_, key) => this.#memory.delete(key),
  });
  readonly #questions = new Map<string, Question>();
  readonly #memory: KeyValues;

  constructor(memory: KeyValues) {
    this.#memory = memory;
    for (const key of readJson<readonly string[]>(memory.get(INDEX)) ?? []) {
      const kept = readJson<KeptComposer>(memory.get(key));
      if (kept) this.#composers.set(key, { ...kept, imageBytes: 0, current: undefined });
    }
  }

  /** Returns the conversation's id. The first call creates the conversation. */
  sessionOf(principal: Principal, composerId: string): string {
    return this.#get(principal, composerId).sessionId;
  }

  begin(principal: Principal, composerId: string, asked: UserMessage): ComposerTurn {
    const composer = this.#get(principal, composerId);
    if (composer.current) {
      throw new ExcursorError("composer_busy", [], { field: "composerId" });
    }
    const abort = new AbortController();
    const questions = new Set<string>();
    let said = "";
    const turn: ComposerTurn = {
      messages: [...composer.messages, asked],
      signal: abort.signal,
      ask: (question) => {
        const key = keyOf(principal, question.id);
        questions.add(key);
        this.#questions.set(key, question);
      },
      say: (text) => {
        said += text;
      },
      end: () => {
        if (composer.current?.turn !== turn) return;
        composer.current = undefined;
        for (const key of questions) this.#questions.delete(key);
        const answer: AssistantMessage = { role: "assistant", content: [{ type: "text", text: said }] };
        composer.messages.push(asked, ...(said === "" ? [] : [answer]));
        composer.messages.splice(0, composer.messages.length - MESSAGES);
        composer.imageBytes += imageBytesOf(asked);
        this.#forgetImages();
        const kept: KeptComposer = { sessionId: composer.sessionId, messages: composer.messages.map(withoutImages) };
        this.#memory.set(keyOf(principal, composerId), JSON.stringify(kept));
        this.#keepIndex();
      },
    };
    composer.current = { turn, abort };
    return turn;
  }

  /** Returns false if there is nothing to cancel. */
  cancel(principal: Principal, composerId: string): boolean {
    const current = this.#composers.get(keyOf(principal, composerId))?.current;
    current?.abort.abort(new ExcursorError("canceled", "The answer was cancelled."));
    current?.turn.end();
    return current !== undefined;
  }

  /** Returns false if the question is unknown or over. */
  answer(principal: Principal, questionId: string, optionId: string | undefined): boolean {
    const key = keyOf(principal, questionId);
    const question = this.#questions.get(key);
    this.#questions.delete(key);
    question?.answer(optionId);
    return question !== undefined;
  }

  forget(principal: Principal, composerId: string): boolean {
    this.cancel(principal, composerId);
    const key = keyOf(principal, composerId);
    this.#memory.delete(key);
    return this.#composers.delete(key);
  }

  #get(principal: Principal, composerId: string): Composer {
    const key = keyOf(principal, composerId);
    const composer = this.#composers.get(key) ?? {
      sessionId: randomUUID(),
      messages: [],
      imageBytes: 0,
      current: undefined,
    };
    this.#composers.set(key, composer);
    return composer;
  }

  #forgetImages(): void {
    let bytes = [...this.#composers.values()].reduce((sum, { imageBytes }) => sum + imageBytes, 0);
    for (const composer of this.#composers.values()) {
      if (bytes <= IMAGE_BYTES) return;
      if (composer.imageBytes === 0) continue;
      bytes -= composer.imageBytes;
      composer.imageBytes = 0;
      composer.messages.splice(0, Infinity, ...composer.messages.map(withoutImages));
    }
  }

  #keepIndex(): void {
    this.#memory.set(INDEX, JSON.stringify([...this.#composers.keys()]));
  }
}

/** The key of the list of stored conversations, in order of use. */
const INDEX = "index";

const imageBytesOf = ({ content }: UserMessage): number =>
  content.reduce((sum, part) => sum + (part.type === "image" ? part.data.length : 0), 0);

function withoutImages(message: Message): Message {
  if (message.role !== "user" || imageBytesOf(message) === 0) return message;
  const content = message.content.map((part) =>
    part.type === "image" ? { type: "text" as const, text: "[an image]\n" } : part,
  );
  return { ...message, content };
}

/** Returns undefined for damaged JSON. */
function readJson<T>(text: string | undefined): T | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}

const keyOf = ({ id }: Principal, name: string): string => JSON.stringify([id, name]);
