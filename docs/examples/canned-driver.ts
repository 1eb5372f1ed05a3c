import { entries, type ValuesOf, wholeNumber } from "../../src/config/setting.ts";
import type { Driver, ModelInfo, Run } from "../../src/core/driver.ts";
import { EventQueue } from "../../src/core/engine/run/event-queue.ts";
import { CANCELED, ExcursorError } from "../../src/core/errors.ts";
import type { TurnEvent } from "../../src/core/events.ts";
import type { DriverModule } from "../../src/drivers/shared/driver-module.ts";

const SETTINGS = {
  canned: {
    answers: entries('What to answer, by the name of the model: { "hello": "Hello, world." }.'),
    wordMs: wholeNumber(0, "The pause before each word.", [0, 60_000]),
  },
};

type Settings = ValuesOf<typeof SETTINGS>["canned"];

const PREFIX = "canned:";

/** A driver that answers from the settings: `canned:NAME` says the text that `canned.answers` has under NAME. */
export const canned = {
  name: "canned",
  settings: SETTINGS,
  claims: (model) => model.startsWith(PREFIX),
  create: ({ settings }) => createCannedDriver(settings.canned),
} satisfies DriverModule<typeof SETTINGS>;

function createCannedDriver(settings: Settings): Driver {
  return {
    open: ({ model }) => new CannedRun(settings, model.id.slice(PREFIX.length)),
    listModels: async () => Object.keys(settings.answers ?? {}).map(describe),
  };
}

const describe = (name: string): ModelInfo => ({
  id: PREFIX + name,
  displayName: name,
  aliases: [],
  contextTokens: 1000,
  supportsImages: false,
  isThinking: false,
  efforts: [],
});

/** One answer. The queue gathers events into batches, and holds them for a slow reader. */
class CannedRun implements Run {
  readonly #queue: EventQueue;
  readonly #words: string[] = [];
  readonly #wordMs: number;
  #said = 0;
  #isHeld = false;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor({ answers, wordMs }: Settings, name: string) {
    this.#wordMs = wordMs;
    this.#queue = new EventQueue({
      // Says nothing more until a slow reader has caught up.
      onPressure: (isFull) => {
        this.#isHeld = isFull;
        this.#sayNext();
      },
      // The reader has left its loop.
      onLeave: () => this.cancel(),
    });
    const text = answers?.[name];
    if (typeof text === "string") {
      this.#words = text.split(/(?<=\s)/);
      this.#sayNext();
    } else {
      // Opening a run never throws. What goes wrong comes out of its iteration.
      this.#fail(
        new ExcursorError("model-not-found", `There is no canned answer ${JSON.stringify(name)}.`, {
          field: "model",
          hint: "Add it to the setting canned.answers.",
        }),
      );
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly TurnEvent[]> {
    return this.#queue[Symbol.asyncIterator]();
  }

  /** It calls no tools, so it never waits for results. */
  submitResults(): boolean {
    return false;
  }

  /** May be called at any time, and more than once. The queue keeps the first end that it is given. */
  cancel(): void {
    this.#fail(CANCELED);
  }

  #fail(error: ExcursorError): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#queue.fail(error);
  }

  #sayNext(): void {
    clearTimeout(this.#timer);
    if (this.#isHeld || this.#isOver) return;
    this.#timer = setTimeout(() => {
      const word = this.#words[this.#said++];
      if (word === undefined) this.#finish();
      else {
        this.#queue.push({ type: "text", text: word });
        this.#sayNext();
      }
    }, this.#wordMs);
  }

  #finish(): void {
    this.#isOver = true;
    this.#queue.push({ type: "usage", usage: usageOf(this.#words.length) });
    this.#queue.push({ type: "done", reason: "stop" });
    this.#queue.close();
  }
}

const usageOf = (outputTokens: number) => ({
  inputTokens: 0,
  outputTokens,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate: true,
});
