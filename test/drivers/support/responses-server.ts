import type { ServerResponse } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { type ApiCall, type ApiServer, replyJson, replyStream, startApiServer } from "./api-server.ts";
import { errorBody } from "./openai-server.ts";

/** An item that the model gives out. */
type Output =
  | { readonly reasoning: readonly string[] }
  | { readonly text: string }
  | { readonly call: string; readonly args: object };

export type ResponsesReply = readonly Output[] | ((call: ApiCall, response: ServerResponse) => unknown);

type Item = Readonly<Record<string, unknown>> & { readonly type: string };

/**
 * The shape of OpenAI's Responses API. It is as strict as OpenAI: the reasoning that it has given out must come back
 * unchanged and in its place, before the items that followed it.
 */
export async function startResponsesServer(...replies: ResponsesReply[]): Promise<ApiServer> {
  const issued: Item[] = [];
  let asked = 0;
  return startApiServer((call, response) => {
    if (call.path === "/v1/models") return replyJson(response, 200, { object: "list", data: [{ id: "gpt-6" }] });
    if (call.path !== "/v1/responses") return replyJson(response, 404, errorBody(null, `no ${call.path} here`));
    const problem = problemIn(call.body, issued);
    if (problem) return replyJson(response, 400, errorBody("invalid_value", problem));
    const reply = replies[asked++];
    if (!reply) return replyJson(response, 500, errorBody(null, "there is no further answer"));
    if (typeof reply === "function") return reply(call, response);
    const output = reply.map((item, index) => itemOf(item, `${asked}_${index}`));
    issued.push(...output);
    return replyStream(response, responseStream(output));
  });
}

function itemOf(output: Output, id: string): Item {
  if ("reasoning" in output) {
    const summary = output.reasoning.map((text) => ({ type: "summary_text", text }));
    return { id: `rs_${id}`, type: "reasoning", summary, encrypted_content: `gAAAA${id}/+=`, status: null };
  }
  if ("text" in output) {
    const content = [{ type: "output_text", text: output.text, annotations: [], logprobs: [] }];
    return { id: `msg_${id}`, type: "message", role: "assistant", status: "completed", content };
  }
  const args = JSON.stringify(output.args);
  return { id: `fc_${id}`, type: "function_call", call_id: `call_${id}`, name: output.call, arguments: args };
}

function problemIn(
  body: { input: readonly Item[] | string; include?: string[]; store?: boolean },
  issued: readonly Item[],
) {
  if (body.store !== false) return "store: expected false.";
  if (!body.include?.includes("reasoning.encrypted_content")) return "include: expected reasoning.encrypted_content.";
  const input = typeof body.input === "string" ? [] : body.input;
  const given = input.filter(({ type, role }) => role === "assistant" || /^(reasoning|function_call)$/.test(type));
  for (const [index, item] of issued.entries()) {
    const back = given[index];
    if (item.type === "reasoning" && back?.type !== "reasoning") {
      return `Item '${back?.["call_id"]}' was provided without its required 'reasoning' item: '${item["id"]}'.`;
    }
    if (item.type === "reasoning" && !isDeepStrictEqual(item, back)) {
      return `The encrypted content for item ${item["id"]} could not be verified.`;
    }
    if (item.type !== back?.type || item["arguments"] !== back?.["arguments"]) return `Item ${index} was changed.`;
  }
  const isForeign = given.slice(issued.length).some(({ type }) => type === "reasoning");
  return isForeign ? "The encrypted content could not be verified." : undefined;
}

const USAGE = {
  input_tokens: 19,
  input_tokens_details: { cached_tokens: 8 },
  output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 29,
};

/** The events of one response, in OpenAI's order. */
export function responseStream(output: readonly Item[], end: object = {}): string {
  let sequence_number = 0;
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...fields })}\n\n`;
  const head = { id: "resp_1", object: "response", created_at: 1, model: "gpt-6", error: null };
  const state = (status: string, more: object) => ({ ...head, status, incomplete_details: null, ...more });
  const items = output.map((item, output_index) => {
    const place = { output_index, item_id: item["id"] };
    const empty =
      item.type === "reasoning"
        ? { ...item, summary: [] }
        : item.type === "message"
          ? { ...item, status: "in_progress", content: [] }
          : { ...item, arguments: "" };
    return [
      event("response.output_item.added", { output_index, item: empty }),
      ...deltasOf(item).flatMap(([type, texts, fields]) => [
        ...(fields ? [event(fields.added, { ...place, ...fields.place })] : []),
        ...texts.map((delta) => event(`${type}.delta`, { ...place, ...fields?.place, delta })),
        event(`${type}.done`, { ...place, ...fields?.place, [fields ? "text" : "arguments"]: texts.join("") }),
      ]),
      event("response.output_item.done", { output_index, item }),
    ].join("");
  });
  const isIncomplete = "incomplete_details" in end;
  const status = isIncomplete ? "incomplete" : "completed";
  return [
    event("response.created", { response: state("in_progress", { output: [], usage: null }) }),
    event("response.in_progress", { response: state("in_progress", { output: [], usage: null }) }),
    ...items,
    event(`response.${status}`, { response: state(status, { output, usage: USAGE, ...end }) }),
  ].join("");
}

type Deltas = readonly [type: string, texts: readonly string[], fields?: { added: string; place: object }];

function deltasOf(item: Item): readonly Deltas[] {
  if (item.type === "function_call") {
    return [["response.function_call_arguments", halves(item["arguments"] as string)]];
  }
  if (item.type === "message") {
    const [part] = item["content"] as readonly { readonly text: string }[];
    const fields = {
      added: "response.content_part.added",
      place: { content_index: 0, part: { type: "output_text", text: "", annotations: [] } },
    };
    return [["response.output_text", halves(part?.text ?? ""), fields]];
  }
  return (item["summary"] as readonly { readonly text: string }[]).map(({ text }, summary_index) => [
    "response.reasoning_summary_text",
    halves(text),
    {
      added: "response.reasoning_summary_part.added",
      place: { summary_index, part: { type: "summary_text", text: "" } },
    },
  ]);
}

const halves = (text: string): readonly string[] => [text.slice(0, text.length / 2), text.slice(text.length / 2)];
