import { describe, expect, it } from "vitest";
import { runExcursor } from "../../src/opencode/run-excursor.ts";

describe("a command that OpenCode's plugin runs", () => {
  it("is ended at its time limit if it does not end", async () => {
    const ending = await runExcursor(["sim", "--port", "0"], "", {}, 200);
    expect(ending).toEqual({ code: null, reason: "No answer within 0.2 seconds." });
  });

  it("gives its exit code, and its error in one line", async () => {
    const { code, reason } = await runExcursor(["--no-such-option"], "", {}, 15_000);
    expect(code).toBe(2);
    expect(reason).toMatch(/^[^\n]*--no-such-option[^\n]*$/);
  });
});
