import { ExcursorError } from "../../core/errors.ts";
import type { ResponseStore, StoredItem, StoredResponse } from "../../core/history/stored-responses.ts";
import type { JsonObject } from "../../core/turn.ts";
import { textPart } from "./output-item.ts";

/** Access to stored answers. Each method throws `not-found` for an unknown id. */
export interface ResponseArchive {
  get(principalId: string, id: string, includesSealed: boolean): Promise<JsonObject>;
  inputItems(principalId: string, id: string, order: "asc" | "desc"): Promise<JsonObject>;
  delete(principalId: string, id: string): Promise<JsonObject>;
}

export function createResponseArchive(store: ResponseStore): ResponseArchive {
  const find = async (principalId: string, id: string): Promise<StoredResponse> => {
    const response = await store.find(principalId, id);
    if (!response) throw notFound(id);
    return response;
  };
  return {
    async get(principalId, id, includesSealed) {
      const { body, output } = await find(principalId, id);
      const items = output.map(parseItem).map((item) => (includesSealed ? item : withoutSeal(item)));
      return { ...(JSON.parse(body) as JsonObject), output: items };
    },
    async inputItems(principalId, id, order) {
      const { input } = await find(principalId, id);
      const items = order === "asc" ? input : input.toReversed();
      return {
        object: "list",
        data: items.map((stored) => ({ ...listed(parseItem(stored)), id: stored.id })),
        first_id: items[0]?.id ?? null,
        last_id: items.at(-1)?.id ?? null,
        has_more: false,
      };
    },
    async delete(principalId, id) {
      if (!(await store.delete(principalId, id))) throw notFound(id);
      return { id, object: "response", deleted: true };
    },
  };
}

const parseItem = ({ json }: StoredItem): JsonObject => JSON.parse(json) as JsonObject;

const HAS_STATUS = /^message$|_call(_output)?$|_search_output$/;

/** Normalises an item: a message may be sent as a bare string and without its type, and any item without its status. */
function listed(item: JsonObject): JsonObject {
  const { type = "message", role, content: text } = item;
  const whole = { ...(HAS_STATUS.test(String(type)) && { status: "completed" }), ...item, type };
  if (type !== "message" || typeof text !== "string") return whole;
  return { ...whole, content: [role === "assistant" ? textPart(text) : { type: "input_text", text }] };
}

const withoutSeal = ({ encrypted_content: _, ...item }: JsonObject): JsonObject => item;

const notFound = (id: string): ExcursorError =>
  new ExcursorError("response_not_found", [JSON.stringify(id.slice(0, 64))]);
