import { expect, it } from "vitest";
import { exitCodeOf } from "../../src/cli/exit-codes.ts";
import { ExcursorError } from "../../src/core/errors.ts";
import { asFileError, fileError } from "../../src/files/file-error.ts";

const failure = (code: string, more: object = {}) => Object.assign(new Error("secret words"), { code, ...more });

it.each([
  ["ENOSPC", "io", "Cannot write /a: the disk is full (ENOSPC).", 74],
  ["EDQUOT", "io", "Cannot write /a: the disk quota is exhausted (EDQUOT).", 74],
  ["EIO", "io", "Cannot write /a: the disk reports an error (EIO).", 74],
  ["EROFS", "io", "Cannot write /a: the file system is read-only (EROFS).", 74],
  ["EACCES", "forbidden", "Cannot write /a (EACCES).", 77],
  ["ELOOP", "config", "Cannot write /a (ELOOP).", 78],
])("%s is one sentence, with a hint and the exit code of its kind", (code, kind, message, exit) => {
  const error = fileError(failure(code), "write /a");
  expect([error.kind, error.message, exitCodeOf(error.kind)]).toEqual([kind, message, exit]);
});

it("SQLite's words for the same are understood", () => {
  const error = fileError(failure("ERR_SQLITE_ERROR", { errcode: 13 }), "lock /a");
  expect([error.kind, error.message]).toEqual(["io", "Cannot lock /a: the disk is full (ENOSPC)."]);
  expect(fileError(failure("ERR_SQLITE_ERROR", { errcode: 14 }), "lock /a").message).toBe(
    "Cannot lock /a (SQLite 14).",
  );
});

it("the caller says what anything but the disk means", () => {
  expect(fileError(failure("ENOTDIR"), "write /a", "key_unwritable")).toMatchObject({
    kind: "forbidden",
    code: "key_unwritable",
  });
  expect(fileError(failure("ENOSPC"), "write /a", "key_unwritable")).toMatchObject({ kind: "io" });
  const known = new ExcursorError("busy", "Held.");
  expect(fileError(known, "write /a", "key_unwritable")).toBe(known);
});

it("what nobody has caught is told from bugs by its path, or by a fault of the disk", () => {
  expect(asFileError(failure("EISDIR", { syscall: "open", path: "/a" }))?.message).toBe("Cannot use /a (EISDIR).");
  expect(asFileError(failure("ENOSPC", { syscall: "write" }))?.kind).toBe("io");
  expect(asFileError(failure("ECONNREFUSED", { syscall: "connect" }))).toBeUndefined();
  expect(asFileError(new TypeError("x is not a function"))).toBeUndefined();
});
