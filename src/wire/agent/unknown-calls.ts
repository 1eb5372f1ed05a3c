import { BoundedMap } from "../../core/bounded-map.ts";
import { respondEmpty } from "../connect/empty-response.ts";
import { mediaType } from "../http/http-errors.ts";
import type { ServerExchange } from "../http/server-exchange.ts";

const MAX_TOLD = 1000;
const MAX_PATH = 200;

const UNARY_TYPES: ReadonlySet<string> = new Set(["", "application/proto", "application/json"]);

/** Methods that change something. To report their success would be a lie. */
const CHANGE = /\/(?:Create|Delete|Update|Set|Add|Remove)\w*$/;

/** True for the path of a call: `/package.Service/Method`. */
export const isRpc = (path: string): boolean => /^\/[\w.]+\/\w+$/.test(path) && path.includes(".");

/** Answers calls that no list names with an empty message, since one error ends Cursor's command line. */
export class UnknownCalls {
  readonly #tell: (path: string) => void;
  readonly #told = new BoundedMap<string, true>(MAX_TOLD);

  /** `tell` is called once for each path. */
  constructor(tell: (path: string) => void) {
    this.#tell = tell;
  }

  /** Answers a unary call, unless it would change something. */
  async answer(exchange: ServerExchange): Promise<"answered" | "would-change" | "not-unary"> {
    const { method, path } = exchange;
    const isUnary = method === "POST" && isRpc(path) && UNARY_TYPES.has(mediaType(exchange.header("content-type")));
    if (!isUnary) return "not-unary";
    if (CHANGE.test(path)) return "would-change";
    const name = path.slice(0, MAX_PATH);
    if (!this.#told.has(name)) this.#tell(name);
    this.#told.set(name, true);
    await respondEmpty(exchange);
    return "answered";
  }
}
