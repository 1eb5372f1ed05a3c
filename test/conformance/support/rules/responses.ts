import type { Response, ResponseStreamEvent } from "openai/resources/responses/responses";
import { areSame, isNow, problems } from "./problems.ts";

/** What the service sends in every answer although its type has it as optional (so in all its answers since July 2026). */
const ALWAYS = [
  ..."background completed_at frequency_penalty max_output_tokens max_tool_calls moderation presence_penalty".split(
    " ",
  ),
  ..."previous_response_id prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier status".split(
    " ",
  ),
  ..."store text top_logprobs truncation usage user".split(" "),
];

const ITEM_IDS = {
  message: "msg_",
  reasoning: "rs_",
  function_call: "fc_",
  custom_tool_call: "ctc_",
  tool_search_call: "tsc_",
} as Readonly<Record<string, string>>;

export const wholeResponse = (answer: Response): readonly string[] => {
  const { id, created_at, completed_at, status, output, usage, error, incomplete_details, temperature, top_p } = answer;
  const missing = ALWAYS.filter((member) => !(member in answer));
  return problems({
    [`${missing.join(" and ")} is always sent`]: missing.length === 0,
    "the id begins with resp_": id.startsWith("resp_"),
    "created_at is a time in seconds": isNow(created_at),
    "completed_at is set if it is completed": (status === "completed") === (typeof completed_at === "number"),
    "it is not completed before it is created": !completed_at || completed_at >= created_at,
    "error is set if it failed": (status === "failed") === (error !== null),
    "incomplete_details are set if it is incomplete": (status === "incomplete") === (incomplete_details !== null),
    "temperature and top_p are numbers": typeof temperature === "number" && typeof top_p === "number",
    "the id of an item begins as its type does": output.every(({ id: of, type }) =>
      of?.startsWith(ITEM_IDS[type] ?? ""),
    ),
    "the usage adds up": !usage || usage.input_tokens + usage.output_tokens === usage.total_tokens,
    "no tool is without strict and description": answer.tools.every(
      (tool) => tool.type !== "function" || ("strict" in tool && "description" in tool),
    ),
  });
};

export function responseStream(events: ResponseStreamEvent[]): readonly string[] {
  const types = events.map(({ type }) => type);
  const responses = events.flatMap((event) => ("response" in event ? [event.response] : []));
  const last = types.at(-1);
  return [
    ...responses.flatMap((answer) => wholeResponse(answer as Response)),
    ...problems({
      "the numbers of the events are in sequence": events.every(
        (event, index) => "sequence_number" in event && event.sequence_number === index,
      ),
      "it begins with created and in_progress": `${types.slice(0, 2)}` === "response.created,response.in_progress",
      "it ends with an answer of that status": last === `response.${responses.at(-1)?.status}`,
      "only its end has usage": responses.slice(0, -1).every(({ usage }) => usage === null),
      "its end is not its beginning": responses.length === 3,
      "all answers have one id": areSame(responses.map(({ id }) => id)),
      "an error comes before its end":
        !types.includes("error") || (types.at(-2) === "error" && last === "response.failed"),
    }),
  ];
}

/** What an answer may repeat of its request, by the names of `x-excursor-ignored`. */
const ECHOED = [
  ..."temperature top_p max_tool_calls truncation service_tier".split(" "),
  ..."text.verbosity reasoning.effort reasoning.summary".split(" "),
];

/** An answer repeats nothing that had no effect. */
export const echoOfIgnored = (asked: unknown, answer: unknown, ignored: readonly string[]): readonly string[] =>
  ECHOED.filter((name) => ignored.includes(name) && valueAt(asked, name) === valueAt(answer, name)).map(
    (name) => `${name} is repeated, and ignored`,
  );

const valueAt = (value: unknown, path: string): unknown =>
  path.split(".").reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);
