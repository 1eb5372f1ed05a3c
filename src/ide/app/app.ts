import { join } from "node:path";
import { ExcursorError } from "../../core/errors.ts";
import type { FileSystem } from "../../files/file-system.ts";
import { type AppFile, BUNDLES, PRODUCT, readAppFile } from "./app-file.ts";
import { type ChecksumScheme, learnScheme } from "./checksums.ts";
import { type Digest, digestOf, hashOf, readChunks } from "./digest.ts";
import { type Product, readProduct } from "./product.ts";

export interface KnownFile extends AppFile {
  readonly digest: Digest;
}

/** A snapshot of an app on the disk. */
export interface App {
  /** The real path of `resources/app`. */
  readonly root: string;
  readonly product: Product;
  readonly productFile: KnownFile;
  readonly bundles: readonly KnownFile[];
}

export function readApp(files: FileSystem, root: string): App {
  const productFile = readKnown(files, root, PRODUCT);
  if (!productFile) throw noApp(root, "it has no product.json");
  const product = readProduct(productFile.bytes);
  if (!/cursor/i.test(product.name)) throw noApp(root, `it is ${product.name || "something without a name"}`);
  const bundles = BUNDLES.flatMap((path) => readKnown(files, root, path) ?? []);
  if (bundles.length === 0) throw noApp(root, "it has no workbench (Cursor's server for remote work has none)");
  return { root, product, productFile, bundles };
}

/** Verifies the app's checksums and returns how they are made. Throws if one does not match (SEC-63). */
export function checkSums(files: FileSystem, { root, product, bundles }: App): ChecksumScheme | undefined {
  return learnScheme(product, (key, algorithm) => {
    const known = bundles.find(({ path }) => path === `out/${key}`);
    if (known && algorithm === "sha256") return Buffer.from(known.digest, "hex");
    if (known) return hashOf(algorithm, [known.bytes]);
    try {
      return hashOf(algorithm, readChunks(files, join(root, "out", ...key.split("/"))));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP" || code === "EISDIR") return undefined;
      throw error;
    }
  });
}

function readKnown(files: FileSystem, root: string, path: AppFile["path"]): KnownFile | undefined {
  const file = readAppFile(files, root, path);
  return file && { ...file, digest: digestOf([file.bytes]) };
}

const noApp = (root: string, why: string): ExcursorError =>
  new ExcursorError("ide_no_app", `${root} is not a Cursor app: ${why}.`);
