import { isJsonObject } from "../../core/json/is-json-object.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import type { SimExchange } from "../sim-exchange.ts";

const MAX_BYTES = 64 << 10;

/** Reads the string members of a small JSON object and ignores others. An empty body counts as an empty object. */
export async function readStrings(exchange: SimExchange): Promise<ReadonlyMap<string, string>> {
  const body = await exchange.readBody(MAX_BYTES);
  if (body.length === 0) return new Map();
  const value = parse(body.toString("utf8"));
  if (!isJsonObject(value)) throw notAnObject();
  return new Map(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notAnObject();
  }
}

const notAnObject = () => new ConnectFailure("invalid_argument", "The body is not a JSON object.");
