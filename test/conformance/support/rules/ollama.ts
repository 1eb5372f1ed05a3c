import type { ChatResponse, GenerateResponse } from "ollama";
import { areSame, problems } from "./problems.ts";

type Line = Partial<ChatResponse & GenerateResponse> & { readonly error?: string };

const FIGURES = [
  ..."total_duration load_duration prompt_eval_count prompt_eval_duration eval_count eval_duration".split(" "),
];

export const wholeLine = (line: Line): readonly string[] =>
  problems({
    "it is done": line.done === true,
    "it says why it is done": ["stop", "length", "load", "unload"].includes(line.done_reason ?? ""),
    "it has all figures, or loads": line.done_reason?.endsWith("load") || FIGURES.every((figure) => figure in line),
    "created_at is a time": !Number.isNaN(Date.parse(String(line.created_at))),
  });

export function ollamaStream(all: Line[]): readonly string[] {
  const lines = all.filter(({ error }) => error === undefined);
  const isWhole = lines.length === all.length;
  return [
    ...(isWhole ? wholeLine(lines.at(-1) ?? {}) : []),
    ...problems({
      "all lines are of one model": areSame(lines.map(({ model }) => model)),
      "an error is the last line": isWhole || all.at(-1)?.error !== undefined,
      "only the last line is done": lines.every(({ done }, index) => done === (isWhole && index === lines.length - 1)),
      "only the last line has figures": lines.every(
        (line) => line.done || FIGURES.every((figure) => !(figure in line)),
      ),
    }),
  ];
}
