import { ExcursorError } from "../../../core/errors.ts";
import { kindOf } from "../../../core/json/describe-value.ts";
import { jsonObject } from "../../../wire/json.ts";

/** An event of an upstream, or an object in one. Any field may be missing or of any type. */
export type EventFields = Readonly<Partial<Record<string, unknown>>>;

/** The functions below throw `upstream-protocol` for a field of the wrong type. `null` counts as missing. */
export function readEvent(data: string): EventFields {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    throw badEvent("that is not JSON");
  }
  return jsonObject<string>(event) ?? raise(badEvent(`that is ${kindOf(event)}`));
}

/** Returns "" if missing. */
export function textIn(fields: EventFields, name: string): string {
  const value = fields[name] ?? "";
  return typeof value === "string" ? value : raise(wrongType(name, value));
}

/** Returns {} if missing. */
export function objectIn(fields: EventFields, name: string): EventFields {
  const value = fields[name] ?? {};
  return jsonObject<string>(value) ?? raise(wrongType(name, value));
}

/** Returns [] if missing. */
export function listIn(fields: EventFields, name: string): readonly unknown[] {
  const value = fields[name] ?? [];
  return Array.isArray(value) ? value : raise(wrongType(name, value));
}

export function indexIn(fields: EventFields, name: string): number | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0))
    return value as number | undefined;
  throw badEvent(`whose ${name} is not a whole number`);
}

/** More than any answer costs, and safe to add up. */
const MAX_TOKENS = 1e12;

/** Returns a number of tokens. An invalid one counts as missing, since it must not fail an answer. */
export function tokensIn(fields: EventFields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS ? value : undefined;
}

export const badEvent = (what: string): ExcursorError =>
  new ExcursorError("bad_event", `The upstream sent an event ${what}.`);

const wrongType = (name: string, value: unknown): ExcursorError => badEvent(`whose ${name} is ${kindOf(value)}`);

function raise(error: ExcursorError): never {
  throw error;
}
