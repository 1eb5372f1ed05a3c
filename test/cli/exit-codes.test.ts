import { expect, it } from "vitest";
import { exitCodeOf } from "../../src/cli/exit-codes.ts";
import { ERROR_KINDS, type ErrorKind } from "../../src/core/errors.ts";

it.each(Object.keys(ERROR_KINDS) as ErrorKind[])(
  "%s ends a process with a code of its own, none of a shell's",
  (kind) => {
    expect(exitCodeOf(kind)).toSatisfy(
      (code: number) => (code >= 64 && code <= 78) || (kind === "canceled" && code === 130),
    );
  },
);
