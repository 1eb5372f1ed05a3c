import { describe, expect, it } from "vitest";
import { ERROR_TABLE, type ErrorKind, type ErrorOutlets, ExcursorError } from "../../src/core/errors.ts";

describe("the table", () => {
  it.each(Object.entries(ERROR_TABLE) as [ErrorKind, ErrorOutlets][])("%s has a face at every outlet", (kind, row) => {
    expect(row.status).toBeGreaterThanOrEqual(400);
    expect(row.status).toBeLessThan(600);
    expect(row.status, "the SDKs retry it").not.toBe(409);
    expect(row.exit).toBeGreaterThan(0);
    expect(row.exit).toBeLessThan(256);
    for (const word of [row.openai.type, row.openai.code, row.anthropic]) expect(word).toMatch(/^[a-z]+(_[a-z]+)*$/);
    const error = new ExcursorError(kind, "Message.");
    expect(error).toMatchObject({ code: row.openai.code, retryable: row.retryable, outlets: row });
  });

  it("calls nothing retryable that the caller has to change first", () => {
    const rows: readonly ErrorOutlets[] = Object.values(ERROR_TABLE);
    for (const row of rows) if (row.status < 429) expect(row.retryable).toBe(false);
  });
});

describe("hints", () => {
  it("every kind that an upstream can cause has one of its own", () => {
    const kinds = Object.keys(ERROR_TABLE) as ErrorKind[];
    const silent = kinds.filter((kind) => new ExcursorError(kind, "Message.").hint === undefined);
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
