import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PATCH_ID } from "../../../src/ide/patch/edit.ts";
import { type AppTree, sha256 } from "./app-tree.ts";

/** As if another version of Excursor had written what is there. */
export function pretendOlder(tree: AppTree): void {
  const [name = ""] = readdirSync(join(tree.home, "ide/records"));
  const path = join(tree.home, "ide/records", name);
  const { body } = JSON.parse(readFileSync(path, "utf8")) as { body: string };
  const older = body.replace(PATCH_ID, "0123456789ab");
  const digest = Buffer.from(sha256(Buffer.from(older)), "base64").toString("hex");
  writeFileSync(path, JSON.stringify({ digest, body: older }));
}
