import { ExcursorError } from "../../../core/errors.ts";
import type { ResponseStore } from "../../../core/history/stored-responses.ts";
import type { ResponsesRequest } from "../schema.ts";
import type { PlacedItem } from "./conversation.ts";
import { type InputItem, inputItem } from "./item-schema.ts";

export interface ResolvedItems {
  /** The previous conversation, then the request's own items, with references resolved. */
  readonly items: readonly PlacedItem[];
  /** The items that the request refers to, as JSON, by their ids. */
  readonly referred: ReadonlyMap<string, string>;
}

/** Finds all items of a request. */
export async function resolveItems(
  request: ResponsesRequest,
  store: ResponseStore,
  principalId: string,
): Promise<ResolvedItems> {
  const { input, previous_response_id: previousId } = request;
  const own: readonly InputItem[] =
    typeof input === "string" ? [{ type: "message", role: "user", content: input }] : (input ?? []);
  const before = previousId ? await conversation(previousId, store, principalId) : [];
  const referred = await findReferred(own, store, principalId);
  const resolved = own.flatMap((item, index): readonly PlacedItem[] => {
    const field = typeof input === "string" ? "input" : `input[${index}]`;
    if (item.type !== "item_reference") return [{ item, field }];
    const json = referred.get(item.id);
    if (json !== undefined) return [{ item: readItem(json), field }];
    // Missing reasoning items are left out.
    if (item.id.startsWith("rs_")) return [];
    throw itemNotFound(item.id, field);
  });
  return { items: [...before, ...resolved], referred };
}

async function conversation(id: string, store: ResponseStore, principalId: string): Promise<readonly PlacedItem[]> {
  const field = "previous_response_id";
  const items = await store.conversation(principalId, id);
  if (items) return items.map((json) => ({ item: readItem(json), field }));
  throw new ExcursorError("previous_response_not_found", [JSON.stringify(id)], { field });
}

async function findReferred(
  own: readonly InputItem[],
  store: ResponseStore,
  principalId: string,
): Promise<ReadonlyMap<string, string>> {
  const ids = own.flatMap((item) => (item.type === "item_reference" ? [item.id] : []));
  const found = await Promise.all(ids.map(async (id) => [id, await store.findItem(principalId, id)] as const));
  return new Map(found.flatMap(([id, json]) => (json === undefined ? [] : [[id, json]])));
}

const itemNotFound = (id: string, field: string): ExcursorError =>
  new ExcursorError("item_not_found", [JSON.stringify(id)], { field });

/** The items were valid when they were stored. */
const readItem = (json: string): InputItem => inputItem.parse(JSON.parse(json));
