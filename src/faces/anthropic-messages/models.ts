import type { ModelInfo as OfficialModel } from "@anthropic-ai/sdk/resources/models";
import type { ModelInfo } from "../../core/driver.ts";
import type { JsonObject } from "../../core/turn.ts";
import { invalid } from "../shared/errors/invalid.ts";
import type { Official } from "../shared/official.ts";
import { pageAfter, pageBefore, readCount } from "../shared/page.ts";

const MAX_PAGE = 1000;

/** Returns `GET /v1/models`, as far as the query asks. `createdAt` is the same for all: no upstream reports it. */
export function modelPage(models: readonly ModelInfo[], createdAt: string, query: URLSearchParams): JsonObject {
  const size = readCount(query, "limit") ?? MAX_PAGE;
  if (size < 1 || size > MAX_PAGE) throw invalid("limit", `expected a number from 1 to ${MAX_PAGE}`);
  const [after, before] = [query.get("after_id"), query.get("before_id")];
  if (after !== null && before !== null) throw invalid("before_id", "expected either after_id or before_id");
  const unknown = () => invalid(before === null ? "after_id" : "before_id", "no model has this id");
  const { items, hasMore } =
    before === null ? pageAfter(models, after ?? undefined, size, unknown) : pageBefore(models, before, size, unknown);
  return {
    data: items.map((model) => modelObject(model, createdAt)),
    has_more: hasMore,
    first_id: items[0]?.id ?? null,
    last_id: items.at(-1)?.id ?? null,
  };
}

/** Returns `GET /v1/models/{id}`. */
export function modelObject(model: ModelInfo, createdAt: string) {
  const thinks = can(model.isThinking);
  return {
    type: "model",
    id: model.id,
    display_name: model.displayName,
    created_at: createdAt,
    line: null,
    lifecycle: "active",
    deprecated_at: null,
    retires_at: null,
    max_input_tokens: model.contextTokens,
    max_tokens: null,
    capabilities: {
      image_input: can(model.supportsImages),
      structured_outputs: YES,
      thinking: { ...thinks, types: { adaptive: thinks, between_tools: NO, disabled: YES, enabled: thinks } },
      effort: {
        ...can(model.efforts.length > 0),
        low: takes(model, "low"),
        medium: takes(model, "medium"),
        high: takes(model, "high"),
        xhigh: takes(model, "xhigh"),
        max: takes(model, "max"),
      },
      batch: NO,
      citations: NO,
      code_execution: NO,
      context_management: { ...NO, clear_thinking_20251015: NO, clear_tool_uses_20250919: NO, compact_20260112: NO },
      pdf_input: NO,
      server_tools: { ...NO, code_execution: NO, web_search: NO },
    },
  } satisfies Official<OfficialModel>;
}

const can = (supported: boolean) => ({ supported });

const [YES, NO] = [can(true), can(false)];

const takes = ({ efforts }: ModelInfo, effort: string) => can(efforts.includes(effort));
