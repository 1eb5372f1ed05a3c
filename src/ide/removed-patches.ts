import type { FileSystem } from "../files/file-system.ts";
import { PRODUCT, readAppFile } from "./app/app-file.ts";
import { readProduct } from "./app/product.ts";
import type { PatchRecord } from "./store/patch-record.ts";
import { Store } from "./store/store.ts";

/** Returns a sentence for each app whose update has removed its patch. Of the app it reads product.json only. */
export function removedPatches(files: FileSystem, home: string): readonly string[] {
  try {
    return new Store(files, home).records().flatMap((record) => sentenceFor(files, record) ?? []);
  } catch {
    // Records that cannot be read: `excursor ide doctor` says why.
    return [];
  }
}

function sentenceFor(files: FileSystem, { root, version, commit }: PatchRecord): string | undefined {
  try {
    const file = readAppFile(files, root, PRODUCT);
    const now = file && readProduct(file.bytes);
    if (!now || (now.version === version && now.commit === commit)) return undefined;
    return `The update of Cursor to ${now.version} has removed the patch from ${root}.`;
  } catch {
    return undefined;
  }
}
