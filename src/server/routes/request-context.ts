import type { ImageLoader, ParseContext } from "../../faces/shared/face.ts";
import type { Exchange } from "../gateway-exchange.ts";
import type { PathParameters } from "./route.ts";

/** Headers that hold secrets. The ones a face declares are removed by the gateway. */
const SECRET_HEADERS: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization", "x-api-key"]);

/** Returns what a face may see of a request beside its body and principal. */
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
    return typeof value === "string" && !SECRET_HEADERS.has(name) ? value : undefined;
  },
});
