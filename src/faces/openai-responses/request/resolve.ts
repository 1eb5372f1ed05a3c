import { ExcursorError } from "../../../core/errors.ts";
import type { ResponseStore } from "../../../core/history/stored-responses.ts";
import type { ResponsesRequest } from "../schema.ts";
import type { PlacedItem } from "./conversation.ts";
import { type InputItem, inputItem } from "./item-schema.ts";

/** Returns all items of a request: the previous conversation, then its own, with references resolved. */
export function resolveItems(request: ResponsesRequest, store: ResponseStore, principalId: string): PlacedItem[] {
  const { input, previous_response_id: previousId } = request;
  const own: readonly InputItem[] =
    typeof input === "string" ? [{ type: "message", role: "user", content: input }] : (input ?? []);
  return [
    ...(previousId ? conversation(previousId, store, principalId) : []),
    ...own.flatMap((item, index) => {
      const field = typeof input === "string" ? "input" : `input[${index}]`;
      if (item.type !== "item_reference") return [{ item, field }];
      return referred(item.id, field, store, principalId);
    }),
  ];
}

function conversation(id: string, store: ResponseStore, principalId: string): readonly PlacedItem[] {
  const field = "previous_response_id";
  const items = store.conversation(principalId, id);
  if (items) return items.map((json) => ({ item: readItem(json), field }));
  throw new ExcursorError("invalid-request", `Previous response with id ${JSON.stringify(id)} not found.`, {
    code: "previous_response_not_found",
    field,
    hint: "It was never stored, was deleted, or has expired. Send the conversation again.",
  });
}

function referred(id: string, field: string, store: ResponseStore, principalId: string): readonly PlacedItem[] {
  const json = store.findItem(principalId, id);
  if (json !== undefined) return [{ item: readItem(json), field }];
  // Missing reasoning items are left out.
  if (id.startsWith("rs_")) return [];
  throw new ExcursorError("not-found", `Item with id ${JSON.stringify(id)} not found.`, {
    code: "item_not_found",
    field,
    hint: "Items are not stored when `store` is false, and stored items expire. Send the item itself.",
  });
}

/** The items were valid when they were stored. */
const readItem = (json: string): InputItem => inputItem.parse(JSON.parse(json));
