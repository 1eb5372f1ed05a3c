import { win32 } from "node:path";
import { ExcursorError } from "../../core/errors.ts";
import type { FileSystem } from "../../files/file-system.ts";
import { appFolders, installPlaces, type Machine, refusedPlace } from "./install-places.ts";

export interface Install {
  /** The real path of `resources/app`. If `refused` is set, the path that was found. */
  readonly root: string;
  /** Why it can never be patched, and what to do instead. */
  readonly refused?: { readonly why: string; readonly remedy: string };
}

export function findInstalls(files: FileSystem, machine: Machine): readonly Install[] {
  const apps = installPlaces(machine).flatMap((place) => appsIn(files, machine, place));
  const packed = packedPlaces(files, machine);
  const roots = new Map<string, Install>();
  for (const root of [...apps, ...packed]) {
    const refused = refusedPlace(root);
    const key = machine.platform === "linux" ? root : root.toLowerCase();
    if (!roots.has(key)) roots.set(key, { root, ...(refused && { refused }) });
  }
  return [...roots.values()];
}

/** Returns the app in a folder that the user named: the install, the bundle, or the app folder itself. */
export function openInstall(files: FileSystem, machine: Machine, path: string): string {
  if (!files.existsSync(path)) throw noInstall(path, "this path does not exist");
  const refused = refusedPlace(path) ?? refusedPlace(files.realpathSync(path));
  if (refused) throw refusal(path, refused);
  const found = [...new Set(appsIn(files, machine, path))];
  const [root, second] = found;
  if (second !== undefined) throw severalInstalls(found);
  // This may be an app without product.json. The caller reports that when it reads the app.
  if (root === undefined && files.existsSync(machinePath(machine, path, "out"))) return files.realpathSync(path);
  if (root === undefined) throw noInstall(path, "no Cursor app was found there");
  return root;
}

export const refusal = (path: string, { why, remedy }: NonNullable<Install["refused"]>): ExcursorError =>
  new ExcursorError("ide_refused_place", `${path} ${why}.`, { hint: remedy });

export const severalInstalls = (roots: readonly string[]): ExcursorError =>
  new ExcursorError("ide_several_apps", [roots.length, roots.join(", "), roots[0] ?? ""]);

function appsIn(files: FileSystem, machine: Machine, place: string): readonly string[] {
  return appFolders(machine, place, (path) => listFolder(files, path))
    .filter((folder) => files.existsSync(machinePath(machine, folder, "product.json")))
    .map((folder) => files.realpathSync(folder));
}

/** Returns Linux packages that cannot be patched as they are, so that they can be reported. */
function packedPlaces(files: FileSystem, { platform, userHome }: Machine): readonly string[] {
  if (platform !== "linux") return [];
  const images = [userHome, `${userHome}/Applications`, `${userHome}/Downloads`, `${userHome}/.local/bin`].flatMap(
    (folder) =>
      listFolder(files, folder)
        .filter((name) => /^cursor.*\.appimage$/i.test(name))
        .map((name) => `${folder}/${name}`),
  );
  const others = ["/snap/cursor/current", `${userHome}/.cursor-server`].filter((path) => files.existsSync(path));
  return [...images, ...others];
}

function listFolder(files: FileSystem, path: string): readonly string[] {
  try {
    return files.readdirSync(path);
  } catch {
    // The folder is missing or unreadable.
    return [];
  }
}

const machinePath = ({ platform }: Machine, folder: string, name: string): string =>
  platform === "win32" ? win32.join(folder, name) : `${folder}/${name}`;

const noInstall = (path: string, what: string): ExcursorError => new ExcursorError("ide_no_app", `${path}: ${what}.`);
