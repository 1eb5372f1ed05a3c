import { runInNewContext } from "node:vm";

/** How long one pattern may look at one text. */
const TIMEOUT_MS = 50;

/**
 * Patterns of a client's schema, held to a time limit: some take longer than the universe for a short text, and while
 * they do, nobody else is served (SEC-26). One that takes too long does not match. In the form that Ajv asks for.
 */
export const boundedRegExp = Object.assign(
  (pattern: string, flags: string) => {
    const regExp = new RegExp(pattern, flags);
    return { test: (text: string): boolean => testInTime(regExp, text) };
  },
  { code: "boundedRegExp" },
);

function testInTime(regExp: RegExp, text: string): boolean {
  try {
    // The engine of V8 lets itself be interrupted; only `vm` gives it a reason to.
    return runInNewContext("regExp.test(text)", { regExp, text }, { timeout: TIMEOUT_MS }) as boolean;
  } catch {
    return false;
  }
}
