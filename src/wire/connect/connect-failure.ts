import { create, toBinary, toJson } from "@bufbuild/protobuf";
import {
  type ErrorDetails_Error,
  ErrorDetails_ErrorSchema,
  ErrorDetailsSchema,
} from "../../gen/aiserver/v1/error_pb.ts";
import type { ConnectCode } from "../agent/cursor-errors.ts";

/** The Connect codes, in gRPC's order, with the HTTP status of a unary call. */
const HTTP_STATUS = {
  canceled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  aborted: 409,
  out_of_range: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  data_loss: 500,
  unauthenticated: 401,
} as const satisfies Record<ConnectCode, number>;

/** Returns gRPC's number of a code. gRPC counts from 1, in the order of the table. */
export const grpcStatus = (code: ConnectCode): number => Object.keys(HTTP_STATUS).indexOf(code) + 1;

export function connectCodeFromHttp(status: number): ConnectCode {
  switch (status) {
    case 400:
      return "invalid_argument";
    case 401:
      return "unauthenticated";
    case 403:
      return "permission_denied";
    case 404:
      return "not_found";
    case 429:
      return "resource_exhausted";
    case 504:
      return "deadline_exceeded";
    case 502:
    case 503:
      return "unavailable";
    default:
      return status >= 500 ? "internal" : "unknown";
  }
}

export interface FailureDetails {
  readonly error: ErrorDetails_Error;
  readonly title?: string | undefined;
  readonly detail?: string | undefined;
  readonly retryable?: boolean | undefined;
  /** What the user has to do, such as `login`. */
  readonly actionRequired?: string | undefined;
}

/** A Connect error, in the form of the real backend. */
export class ConnectFailure extends Error {
  override readonly name = "ConnectFailure";
  readonly code: ConnectCode;
  readonly details: FailureDetails | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Overrides the HTTP status that goes with the code. */
  readonly http: number | undefined;

  constructor(
    code: ConnectCode,
    message: string,
    more: { details?: FailureDetails; metadata?: Readonly<Record<string, string>>; http?: number } = {},
  ) {
    super(message);
    this.code = code;
    this.details = more.details;
    this.metadata = more.metadata ?? {};
    this.http = more.http;
  }

  get httpStatus(): number {
    return this.http ?? HTTP_STATUS[this.code];
  }

  /** Returns `{code, message, details}`: the body of a unary failure, and a member of the end frame. */
  toConnectJson() {
    const { details } = this;
    if (!details) return { code: this.code, message: this.message };
    const message = create(ErrorDetailsSchema, {
      error: details.error,
      details: {
        title: details.title ?? "",
        detail: details.detail ?? "",
        ...(details.retryable === undefined ? {} : { isRetryable: details.retryable }),
        ...(details.actionRequired === undefined
          ? {}
          : { analyticsMetadata: { actionRequired: details.actionRequired } }),
      },
      isExpected: true,
    });
    return {
      code: this.code,
      message: this.message,
      details: [
        {
          type: ErrorDetailsSchema.typeName,
          debug: toJson(ErrorDetailsSchema, message),
          value: Buffer.from(toBinary(ErrorDetailsSchema, message))
            .toString("base64")
            .replace(/={1,2}$/, ""),
        },
      ],
    };
  }

  /** Returns the payload of the end frame with this error. */
  toEndFrame(): Buffer {
    const metadata = Object.entries(this.metadata).map(([name, value]) => [name, [value]]);
    return Buffer.from(
      JSON.stringify({
        error: this.toConnectJson(),
        ...(metadata.length === 0 ? {} : { metadata: Object.fromEntries(metadata) }),
      }),
    );
  }
}

/** Returns the number of `ERROR_…`; undefined if the backend has no such error. */
export const errorNumber = (name: string): ErrorDetails_Error | undefined =>
  ErrorDetails_ErrorSchema.values.find((value) => value.name === name)?.number as ErrorDetails_Error | undefined;
