import type { ImageLoader, ParseContext } from "../../faces/shared/face.ts";
import type { Exchange } from "../exchange.ts";
import type { PathParameters } from "./route.ts";

/** Returns what a face may know of a request beside its body and who sends it. */
export const requestContext = (
  { id: requestId, query, request }: Exchange,
  path: PathParameters,
  images: ImageLoader,
): Omit<ParseContext, "principal"> => ({
  requestId,
  images,
  path,
  query,
  header(name) {
    const value = request.headers[name];
    return typeof value === "string" ? value : undefined;
  },
});
