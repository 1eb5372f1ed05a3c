import { describe, expect, it } from "vitest";
import { ERROR_KINDS, type ErrorKind, ExcursorError, type ReportedCode } from "../../../src/core/errors.ts";
import { httpStatus, publicCode } from "../../../src/faces/shared/errors/http-errors.ts";

const KINDS = Object.keys(ERROR_KINDS) as ErrorKind[];

describe("a kind as HTTP", () => {
  it.each(KINDS)("%s has an error's status, and none that the official SDKs retry by themselves", (kind) => {
    expect(httpStatus(kind)).toBeGreaterThanOrEqual(400);
    expect(httpStatus(kind)).toBeLessThan(600);
    expect(httpStatus(kind)).not.toBe(409);
    if (httpStatus(kind) < 429) expect(ERROR_KINDS[kind].retryable).toBe(false);
  });

  it("has a code that clients know, unless the error has one of its own", () => {
    expect(publicCode(new ExcursorError("context-overflow", "Too long."))).toBe("context_length_exceeded");
    expect(publicCode(new ExcursorError("context-overflow", "Too long.").with({ field: "x" }))).toBe(
      "context_length_exceeded",
    );
    expect(publicCode(new ExcursorError("context-overflow", "Too long.", { code: "own" as ReportedCode }))).toBe("own");
  });
});
