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
