import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readSdk } from "../../src/drift/read-sdk.ts";
import { COMPACT } from "./support.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "drift-"));
  await mkdir(join(folder, "dist", "esm"), { recursive: true });
});
afterEach(() => rm(folder, { recursive: true }));

test("reads a package from its folder", async () => {
  await writeFile(join(folder, "dist", "esm", "index.js"), COMPACT);
  expect((await readSdk(folder)).messages.has("agent.v1.Run")).toBe(true);
});

test("says that a folder holds no schema", async () => {
  await writeFile(join(folder, "dist", "esm", "index.js"), "export const a = 1;");
  await expect(readSdk(folder)).rejects.toMatchObject({ message: `No schema of Cursor was found in ${folder}.` });
});

test("says that code cannot be parsed", async () => {
  await writeFile(join(folder, "dist", "esm", "index.js"), "const = ;");
  await expect(readSdk(folder)).rejects.toThrow(/could not be parsed/);
});
