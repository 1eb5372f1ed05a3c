import { ExcursorError } from "../../core/errors.ts";
import type { ResponseArchive } from "../../faces/openai-responses/archive.ts";
import type { Face } from "../../faces/shared/face.ts";
import type { Route } from "./route.ts";

const INPUT_ITEMS = "/input_items";

/** `GET path/{id}`, `GET path/{id}/input_items` and `DELETE path/{id}`: answers that were kept. */
export function responseRoutes(path: string, face: Face, archive: ResponseArchive): readonly Route[] {
  return [
    {
      method: "GET",
      path: `${path}/{id}`,
      face,
      handle(exchange, id) {
        const { query, asker } = exchange;
        if (id.endsWith(INPUT_ITEMS)) {
          const order = query.get("order") === "asc" ? "asc" : "desc";
          exchange.reply(200, archive.inputItems(asker.id, id.slice(0, -INPUT_ITEMS.length), order));
          return;
        }
        if (query.get("stream") === "true") throw noStream();
        const include = [...query.getAll("include"), ...query.getAll("include[]")];
        exchange.reply(200, archive.get(asker.id, id, include.includes("reasoning.encrypted_content")));
      },
    },
    {
      method: "DELETE",
      path: `${path}/{id}`,
      face,
      handle(exchange, id) {
        exchange.reply(200, archive.delete(exchange.asker.id, id));
      },
    },
  ];
}

const noStream = (): ExcursorError =>
  new ExcursorError("invalid-request", "stream: expected false: an answer that was kept is given whole.", {
    code: "unsupported_parameter",
    field: "stream",
  });
