import { fromBinary } from "@bufbuild/protobuf";
import {
  type CustomErrorDetails,
  ErrorDetails_Error,
  ErrorDetails_ErrorSchema,
  ErrorDetailsSchema,
} from "../../gen/aiserver/v1/error_pb.ts";
import type { CursorErrorName } from "../agent/cursor-errors.ts";
import { jsonObject } from "../json.ts";

/** The used part of `aiserver.v1.ErrorDetails`, from either of its two encodings. */
export interface CursorDetails {
  /** Undefined for a number or name that our schema does not know. */
  readonly error: CursorErrorName | undefined;
  readonly title: string;
  readonly detail: string;
  readonly isRetryable: boolean | undefined;
}

const PREFIX = "ERROR_";

/**
 * Finds the backend's details in a Connect error. Each detail holds the message twice: as JSON in `debug`, which is
 * preferred, and as protobuf in `value`. Broken details are skipped.
 */
export function findCursorDetails(details: unknown): CursorDetails | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const entry of details) {
    const detail = jsonObject<"type" | "debug" | "value">(entry);
    if (detail?.type !== ErrorDetailsSchema.typeName) continue;
    const found = fromDebug(detail.debug) ?? fromValue(detail.value);
    if (found) return found;
  }
  return undefined;
}

function fromDebug(value: unknown): CursorDetails | undefined {
  const debug = jsonObject<"error" | "details">(value);
  if (debug?.error === undefined) return undefined;
  const details = jsonObject<"title" | "detail" | "isRetryable">(debug.details);
  return {
    error: typeof debug.error === "number" ? nameOf(debug.error) : nameFrom(textOf(debug.error)),
    title: textOf(details?.title),
    detail: textOf(details?.detail),
    isRetryable: typeof details?.isRetryable === "boolean" ? details.isRetryable : undefined,
  };
}

function fromValue(value: unknown): CursorDetails | undefined {
  if (typeof value !== "string") return undefined;
  try {
    const message = fromBinary(ErrorDetailsSchema, Buffer.from(value, "base64"));
    const details: Partial<CustomErrorDetails> = message.details ?? {};
    return {
      error: nameOf(message.error),
      title: details.title ?? "",
      detail: details.detail ?? "",
      isRetryable: details.isRetryable,
    };
  } catch {
    return undefined;
  }
}

function nameOf(number: number): CursorErrorName | undefined {
  return nameFrom(ErrorDetails_ErrorSchema.values.find((value) => value.number === number)?.name);
}

function nameFrom(name: string | undefined): CursorErrorName | undefined {
  const short = name?.slice(PREFIX.length);
  return short !== undefined && Object.hasOwn(ErrorDetails_Error, short) ? (short as CursorErrorName) : undefined;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
