import type { ChatCompletion, ChatCompletionChunk } from "openai/resources/chat/completions";
import type { CompletionUsage } from "openai/resources/completions";
import { areSame, isNow, problems } from "./problems.ts";

export const wholeChat = ({ id, created, choices, usage }: ChatCompletion): readonly string[] => {
  const [choice, ...others] = choices;
  return problems({
    "the id begins with chatcmpl-": id.startsWith("chatcmpl-"),
    "created is a time in seconds": isNow(created),
    "there is one choice": choice?.index === 0 && others.length === 0,
    "calls end with tool_calls": (choice?.finish_reason === "tool_calls") === Boolean(choice?.message.tool_calls),
    "the content is null only beside calls": choice?.message.content !== null || Boolean(choice.message.tool_calls),
    "the usage adds up": !usage || addsUp(usage),
  });
};

export function chatStream(all: (ChatCompletionChunk & { error?: unknown })[]): readonly string[] {
  const chunks = all.filter(({ error }) => !error);
  const [figures] = chunks.filter(({ usage }) => usage).map(({ usage }) => usage);
  const deltas = chunks.flatMap(({ choices }) => choices);
  const ends = deltas.filter(({ finish_reason }) => finish_reason !== null);
  const isWhole = chunks.length === all.length;
  const heads = chunks.map(({ id, created, model }) => `${id} ${created} ${model}`);
  const begun = new Set<number>();
  const calls = deltas.flatMap(({ delta }) => delta.tool_calls ?? []);
  return problems({
    "an error is the last chunk": isWhole || all.findIndex(({ error }) => error) === all.length - 1,
    "all chunks have one head": areSame(heads),
    "created is a time in seconds": chunks.every(({ created }) => isNow(created)),
    "the first delta has the role": chunks.length === 0 || deltas[0]?.delta.role === "assistant",
    "no other delta has the role": deltas.slice(1).every(({ delta }) => delta.role === undefined),
    "there is one end, and it is last": !isWhole || (ends.length === 1 && deltas.at(-1) === ends[0]),
    "figures are in a chunk of their own at the end": !figures || chunks.at(-1)?.choices.length === 0,
    "the usage adds up": !figures || addsUp(figures),
    "a call begins with its id, type and name, in the order of the indices": calls.every((call) => {
      if (begun.has(call.index)) return call.id === undefined;
      begun.add(call.index);
      return call.index === begun.size - 1 && Boolean(call.id && call.type);
    }),
  });
}

const addsUp = ({ prompt_tokens, completion_tokens, total_tokens }: CompletionUsage): boolean =>
  prompt_tokens + completion_tokens === total_tokens;
