import type { Limits } from "../../config/settings.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { Face, ImageLoader, ParseContext } from "../../faces/shared/face.ts";
import { readJson } from "../read-json.ts";
import type { Route } from "./route.ts";

export interface QueryRouteOptions {
  readonly path: string;
  readonly face: Face;
  readonly images: ImageLoader;
  readonly limits: Limits;
  readonly answer: (body: unknown, context: ParseContext) => Promise<JsonObject>;
}

/** A route that answers from what it is sent, without asking any model. */
export const queryRoute = ({ path, face, images, limits, answer }: QueryRouteOptions): Route => ({
  method: "POST",
  path,
  face,
  async handle(exchange) {
    const { principal, id: requestId } = exchange;
    if (!principal) throw new ExcursorError("internal", "A question came from nobody.");
    const body = await readJson(exchange, limits);
    exchange.reply(200, await answer(body, { principal, requestId, images }));
  },
});
