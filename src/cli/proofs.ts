import { randomBytes } from "node:crypto";
import type { OfferedModel } from "../client-config/client-recipe.ts";
import { ExcursorError } from "../core/errors.ts";
import type { ClientAnswer, ClientQuestion } from "./dialects/client-question.ts";

type Ask = (question: Omit<ClientQuestion, "model">) => Promise<ClientAnswer>;

/** One feature of a client's dialect, proven with a real question to the model. */
export interface Proof {
  readonly id: "chat" | "tool" | "image" | "thinking";
  /** Returns why the model cannot do it. `model` is undefined if the gateway does not list it. */
  obstacle?(model: OfferedModel | undefined): string | undefined;
  /** Returns what was seen. Throws if the feature does not work. */
  run(ask: Ask): Promise<string>;
}

/** A red square of 16 × 16 pixels. */
const RED_PNG =
  "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mP4z8BAEmIY1TCqYfhqAACQ+f8B8u7oVwAAAABJRU5ErkJggg==";

const TOOL = "reveal_word";

/** The first one is what every client needs. */
export const PROOFS: readonly [Proof, ...Proof[]] = [
  {
    id: "chat",
    async run(ask) {
      const { text } = await ask({ prompt: "Reply with the single word: hello" });
      if (text === "") throw unproven("empty_answer");
      return "a streamed answer";
    },
  },
  {
    id: "tool",
    async run(ask) {
      const word = randomBytes(4).toString("hex");
      const question = {
        prompt: `Call the tool ${TOOL} once. Then reply with only the word that it returns.`,
        tool: TOOL,
      };
      const answer = await ask(question);
      if (answer.calls.length === 0) throw unproven("no_tool_call");
      const { text } = await ask({ ...question, called: { answer, result: word } });
      if (!text.includes(word)) throw unproven("no_tool_result");
      return "a call, and an answer with its result";
    },
  },
  {
    id: "image",
    obstacle: (model) => (model?.supportsImages === false ? "the model does not accept images" : undefined),
    async run(ask) {
      const { text } = await ask({
        prompt: "Which colour fills this image? Reply with the colour's name only.",
        image: RED_PNG,
      });
      if (!/\bred\b/i.test(text)) throw unproven("image_not_seen");
      return "the model named the image's colour";
    },
  },
  {
    id: "thinking",
    obstacle: (model) => (model?.isThinking === false ? "the model does not think" : undefined),
    async run(ask) {
      const { thinking } = await ask({
        prompt: "Is 391 a prime number? Think step by step, then reply with yes or no.",
        wantsThinking: true,
      });
      if (thinking === "") throw unproven("no_thinking");
      return "thinking, separate from the text";
    },
  },
];

const unproven = (code: "empty_answer" | "no_tool_call" | "no_tool_result" | "image_not_seen" | "no_thinking") =>
  new ExcursorError(code, [], { hint: null });
