import { z } from "zod";
import { ExcursorError } from "../../core/errors.ts";
import type { OpenPrompts, OwnerPrompt } from "../../core/owner-prompts.ts";
import type { Call } from "../call.ts";
import type { PromptReply } from "../messages.ts";
import { readBody } from "../read-body.ts";

const MAX_TITLE = 1000;
const MAX_OPTIONS = 20;
/** Quotes and other characters take more bytes as JSON. */
const MAX_DETAIL = 40_000;

const Answer = z.object({ option: z.string().max(256).nullable() });

/** The calls that show the owner a question of an agent, and answer it. */
export function promptCalls(prompts: OpenPrompts): readonly Call[] {
  const find = (id: string): OwnerPrompt => {
    const prompt = prompts.find(id);
    if (prompt) return prompt;
    throw new ExcursorError("unknown_prompt", [], { hint: null });
  };
  return [
    { method: "GET", path: "/prompts/{id}", handle: ({ path: { id = "" } }): PromptReply => replyOf(find(id)) },
    {
      method: "POST",
      path: "/prompts/{id}",
      handle({ path: { id = "" }, body }) {
        const { question } = find(id);
        const { option } = readBody(Answer, body);
        if (option !== null && !question.options.some((one) => one.id === option)) {
          throw new ExcursorError("invalid-request", "option: expected the id of an option, or null.", {
            field: "option",
          });
        }
        question.answer(option ?? undefined);
        return {};
      },
    },
  ];
}

function replyOf({ from, question: { title, options, detail } }: OwnerPrompt): PromptReply {
  const { title: _, toolCallId: __, kind, ...rest } = detail;
  const text = Object.keys(rest).length === 0 ? "" : JSON.stringify(rest, null, 2);
  return {
    from,
    title: title.slice(0, MAX_TITLE),
    kind: typeof kind === "string" ? kind.slice(0, MAX_TITLE) : null,
    detail: text.slice(0, MAX_DETAIL),
    isCut: text.length > MAX_DETAIL,
    options: options.slice(0, MAX_OPTIONS).map(({ id, name, kind: how }) => ({
      id,
      name: name.slice(0, MAX_TITLE),
      isAllowed: how === "allow_once" || how === "allow_always",
    })),
  };
}
