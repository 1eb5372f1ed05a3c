import { ExcursorError } from "../core/errors.ts";
import type { FileSystem } from "../files/file-system.ts";
import { type App, checkSums, type KnownFile } from "./app/app.ts";
import { readAppFile } from "./app/app-file.ts";
import { digestOf } from "./app/digest.ts";
import { readProduct, replaceChecksums } from "./app/product.ts";
import { locate } from "./patch/locate.ts";

/** What the script of cursor-thinking-solutions gives its backups, and the marks of its patch. No other patch has only these. */
const SUFFIX = ".backup";
const MARKS: ReadonlySet<string> = new Set(["__thinkTagState", "_origHandleTextDelta", "_appendThinkContent"]);

/**
 * Returns the app as it was before the patch of that script, from the backups beside its files. Undefined if it does not have
 * that patch, or if the backups do not fit: they must be of this build, agree with its checksums, and be all that was changed.
 */
export function appFromBackups(files: FileSystem, app: App): App | undefined {
  if (!app.bundles.some(({ bytes }) => hasThatPatch(bytes))) return undefined;
  try {
    const productFile = readBackup(files, app.root, app.productFile);
    const bundles = app.bundles.map((file) => (hasThatPatch(file.bytes) ? readBackup(files, app.root, file) : file));
    const product = readProduct(productFile.bytes);
    const original: App = { ...app, product, productFile, bundles };
    checkSums(files, original);
    const keys = bundles
      .filter((file, index) => file !== app.bundles[index])
      .map(({ path }) => path.slice("out/".length));
    const changed = keys.filter((key) => product.checksums.has(key));
    const theirs = new Map(changed.map((key) => [key, app.product.checksums.get(key) ?? ""]));
    return replaceChecksums(product, theirs) === app.product.text ? original : undefined;
  } catch (error) {
    if (error instanceof ExcursorError) return undefined;
    throw error;
  }
}

function hasThatPatch(bundle: Buffer): boolean {
  const finding = locate(bundle);
  return finding.type === "foreign" && finding.marks.every((mark) => MARKS.has(mark));
}

/** The file as it is on the disk now, with what it held before. */
function readBackup(files: FileSystem, root: string, file: KnownFile): KnownFile {
  const backup = readAppFile(files, root, file.path, SUFFIX);
  if (!backup) throw new ExcursorError("ide_bad_backup", [file.path + SUFFIX]);
  return { ...file, bytes: backup.bytes, digest: digestOf([backup.bytes]) };
}
