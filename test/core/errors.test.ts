import { describe, expect, it } from "vitest";
import { ERROR_KINDS, type ErrorKind, ExcursorError } from "../../src/core/errors.ts";

const KINDS = Object.keys(ERROR_KINDS) as ErrorKind[];

it.each(KINDS)("%s is the code of an error that has none, and says whether to retry", (kind) => {
  const error = new ExcursorError(kind, "Message.");
  expect(error).toMatchObject({ code: kind.replaceAll("-", "_"), retryable: ERROR_KINDS[kind].retryable });
  expect(error.with({ field: "x" }).code).toBe(error.code);
});

describe("hints", () => {
  it("every kind that an upstream can cause has one of its own", () => {
    const silent = KINDS.filter((kind) => new ExcursorError(kind, "Message.").hint === undefined);
    expect(silent).toEqual(["canceled", "internal", "config", "busy"]);
  });

  it("an error's own comes before its kind's, and may be none", () => {
    const [general, own, none] = [{}, { hint: "Wait." }, { hint: null }].map(
      (details) => new ExcursorError("timeout", "Too late.", details),
    );
    expect(general).toMatchObject({ hint: expect.stringContaining("Try again"), hasOwnHint: false });
    expect(own).toMatchObject({ hint: "Wait.", hasOwnHint: true });
    expect(none).toMatchObject({ hint: undefined, hasOwnHint: false });
    for (const error of [general, own, none]) {
      expect(error?.with({ field: "x" })).toMatchObject({ hint: error?.hint, hasOwnHint: error?.hasOwnHint });
    }
  });
});

describe("an error", () => {
  it("with more known about it keeps what was known, and stands on the first", () => {
    const first = new ExcursorError("rate-limited", "Slow down.", {
      hint: "Wait.",
      retryAfterMs: 3,
      context: { a: 1 },
    });
    const second = first.with({ field: "messages[0]", retryable: false });
    expect(second).toMatchObject({
      kind: "rate-limited",
      message: "Slow down.",
      hint: "Wait.",
      retryAfterMs: 3,
      context: { a: 1 },
      field: "messages[0]",
      retryable: false,
      cause: first,
    });
    expect(first.retryable).toBe(true);
    expect(second.with({}).field).toBe("messages[0]");
  });

  it("from anywhere becomes ours once", () => {
    const ours = new ExcursorError("timeout", "Too late.");
    expect(ExcursorError.from(ours)).toBe(ours);
    expect(ExcursorError.from(new DOMException("x", "AbortError")).kind).toBe("canceled");
    const foreign = new Error("a path of this machine");
    expect(ExcursorError.from(foreign)).toMatchObject({ kind: "internal", cause: foreign });
    expect(ExcursorError.from(foreign).message).not.toContain("path");
    expect(ExcursorError.from(undefined).kind).toBe("internal");
  });
});
