import { randomUUID } from "node:crypto";
import type { Awaitable } from "../../core/awaitable.ts";
import type { ResponseStore, StoredItem, StoredResponse } from "../../core/history/stored-responses.ts";
import { estimateInputTokens } from "../../core/rules/usage-estimate.ts";
import { MAX_THOUGHT_LENGTH, NO_THOUGHTS, type Thoughts } from "../../core/thinking/thoughts.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { Face, ParseContext } from "../shared/face.ts";
import { fetchThoughts } from "../shared/fetch-thoughts.ts";
import { asJson } from "../shared/official.ts";
import { REQUEST_LIMITS, type RequestLimits } from "../shared/request-limits.ts";
import type { Body } from "../shared/unsupported-fields.ts";
import { type AnswerHead, echoOf } from "./answer.ts";
import { ResponseCollector } from "./collect.ts";
import { checkItems, readRequest, readTools, toTurn } from "./parse.ts";
import type { ReasoningSeal } from "./reasoning-seal.ts";
import { ignoredFields, includesReasoning } from "./refusals.ts";
import { type RenderOptions, ResponseRenderer } from "./render.ts";
import { type PlacedItem, type ReadContext, recallAll } from "./request/conversation.ts";
import { isPassedOver } from "./request/item-schema.ts";
import { resolveItems } from "./request/resolve.ts";
import type { ResponsesRequest } from "./schema.ts";

export interface OpenAiResponsesOptions {
  /** Stores answers, unless the client sends `store: false`. */
  readonly store: ResponseStore;
  readonly seal: ReasoningSeal;
  /** Stores thinking for clients that send a reasoning item back without its encrypted content. */
  readonly thoughts?: Thoughts;
  readonly limits?: Partial<RequestLimits>;
  /** True if `generate: false` prepares a request without asking the model. */
  readonly takesPrewarms?: boolean;
  /** Called with every complete answer, also if the client does not want it stored. */
  readonly onAnswer?: (principalId: string, answer: StoredResponse) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

export interface OpenAiResponsesFace extends Face {
  /** Handles `input_tokens`: returns an estimate of the input tokens. */
  countTokens(body: unknown, context: ParseContext): Promise<JsonObject>;
}

export function createOpenAiResponsesFace(options: OpenAiResponsesOptions): OpenAiResponsesFace {
  const { store, seal, thoughts = NO_THOUGHTS, onAnswer, now = Date.now } = options;
  const limits = { ...REQUEST_LIMITS, ...options.limits };
  const recallFor =
    (principalId: string, from = thoughts): ReadContext["recall"] =>
    ({ id, encrypted_content: sealed }, summary) =>
      (sealed ? seal.open(sealed, principalId) : undefined) ??
      (id ? from.find(principalId, id) : undefined) ??
      (summary === "" ? undefined : from.findByText(principalId, summary));
  const face: OpenAiResponsesFace = {
    parse: async (body, context) => {
      const request = readRequest(body, limits);
      const principalId = context.principal.id;
      const { items, referred } = await resolveItems(request, store, principalId);
      checkItems(items, limits);
      const toolbox = readTools(request, items, limits);
      await fetchThoughts(thoughts, principalId, (probe) => recallAll(items, recallFor(principalId, probe)));
      const fields = body as Body;
      const isPrewarm = options.takesPrewarms === true && fields["generate"] === false;
      const turn = await toTurn(request, items, toolbox, { recall: recallFor(principalId), isPrewarm }, context);
      const head: AnswerHead = {
        id: `resp_${randomUUID().replaceAll("-", "")}`,
        createdAt: Math.floor(now() / 1000),
        echo: echoOf(request, fields, toolbox.hostedTypes),
      };
      let stored: Awaitable<void>;
      const render = (): RenderOptions => ({
        toolbox,
        seal: (thought) => seal.seal(thought, principalId),
        onThought: (itemId, thought) => {
          if (thought.text.length <= MAX_THOUGHT_LENGTH) thoughts.keep(principalId, itemId, thought);
        },
        includesSealed: includesReasoning(request.include),
        onEnd: (response, output) => {
          const isStored = request.store ?? true;
          if (!isStored && !onAnswer) return;
          const answer = storedAnswer(referred, request, fields, asJson(response), output.map(asJson));
          onAnswer?.(principalId, answer);
          if (isStored) stored = store.put(principalId, answer);
        },
      });
      return {
        turn,
        isStream: request.stream ?? false,
        isUnasked: isPrewarm,
        ignored: ignoredFields(fields, { tools: toolbox.hostedTypes, items: passedOver(items) }),
        fields: { effort: "reasoning.effort" },
        stored: () => stored,
        stream: () => new ResponseRenderer(head, render()),
        collect: () => new ResponseCollector(new ResponseRenderer(head, render())),
      };
    },
    countTokens: async (body, context) => {
      // The model is optional here.
      const asked = typeof body === "object" && !Array.isArray(body) ? { model: "any", ...body } : body;
      const { turn } = await face.parse(asked, context);
      return { object: "response.input_tokens", input_tokens: estimateInputTokens(turn) };
    },
  };
  return face;
}

const passedOver = (items: readonly PlacedItem[]): readonly string[] => [
  ...new Set(items.flatMap(({ item }) => (isPassedOver(item) ? [item.type] : []))),
];

function storedAnswer(
  referred: ReadonlyMap<string, string>,
  request: ResponsesRequest,
  { input: sent }: Body,
  { output: _, ...body }: JsonObject,
  output: readonly JsonObject[],
): StoredResponse {
  const id = body["id"] as string;
  const { input, previous_response_id } = request;
  const asked: readonly JsonObject[] =
    typeof input === "string" ? [{ type: "message", role: "user", content: input }] : ((sent ?? []) as JsonObject[]);
  return {
    id,
    previousId: previous_response_id ?? undefined,
    body: JSON.stringify(body),
    input: asked.flatMap((item, index) => {
      const parsed = typeof input === "string" ? undefined : input?.[index];
      if (parsed?.type !== "item_reference") return [toStored(item, `msg_${id.slice("resp_".length)}_in${index}`)];
      // The item itself is stored, since it may be deleted before this answer.
      const json = referred.get(parsed.id);
      return json === undefined ? [] : [{ id: parsed.id, json }];
    }),
    output: output.map((item) => toStored(item, "")),
  };
}

const toStored = (item: JsonObject, fallbackId: string): StoredItem => ({
  id: typeof item["id"] === "string" ? item["id"] : fallbackId,
  json: JSON.stringify(item),
});
