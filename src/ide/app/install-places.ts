import { posix, win32 } from "node:path";

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
}

/** Paths from an install folder to its app folder. `*` is any folder named after a commit. */
const BELOW: readonly (readonly string[])[] = [
  [],
  ["resources", "app"],
  ["*", "resources", "app"],
  ["Contents", "Resources", "app"],
  ["usr", "share", "cursor", "resources", "app"],
  ["squashfs-root", "usr", "share", "cursor", "resources", "app"],
];

/** Returns the folders into which installers, packages and users put Cursor. */
export function installPlaces({ platform, environment, userHome }: Machine): readonly string[] {
  if (platform === "darwin") {
    return ["/Applications/Cursor.app", posix.join(userHome, "Applications", "Cursor.app")];
  }
  if (platform === "win32") {
    const { LOCALAPPDATA, ProgramFiles, USERPROFILE = userHome } = environment;
    const system = [ProgramFiles, environment["ProgramFiles(x86)"]].filter((folder) => folder !== undefined);
    return [
      win32.join(LOCALAPPDATA ?? win32.join(USERPROFILE, "AppData", "Local"), "Programs", "cursor"),
      ...system.map((folder) => win32.join(folder, "cursor")),
      win32.join(USERPROFILE, "scoop", "apps", "cursor", "current"),
    ];
  }
  const own = [".local/share/cursor", "Applications/cursor", "Applications/squashfs-root", "squashfs-root"];
  return [
    ...["/usr/share/cursor", "/opt/Cursor", "/opt/cursor", "/usr/lib/cursor"],
    ...own.map((folder) => posix.join(userHome, folder)),
  ];
}

/** Returns where the app may be, given an install folder. `children` lists a folder. */
export function appFolders(machine: Machine, folder: string, children: (path: string) => readonly string[]): string[] {
  const { join } = machine.platform === "win32" ? win32 : posix;
  return BELOW.flatMap((parts) => {
    if (parts[0] !== "*") return [join(folder, ...parts)];
    const builds = children(folder).filter((name) => /^[0-9a-f]{10,40}$/.test(name));
    return builds.map((name) => join(folder, name, ...parts.slice(1)));
  });
}

/** Returns why an app in this place can never be patched, and what to do; undefined if it can. */
export function refusedPlace(path: string): { readonly why: string; readonly remedy: string } | undefined {
  const place = path.replaceAll("\\", "/");
  if (/\.appimage$/i.test(place)) {
    return {
      why: "is an AppImage, which cannot be changed",
      remedy: `Unpack it: '${path}' --appimage-extract, then name the folder squashfs-root with --app and start Cursor from there.`,
    };
  }
  if (/(^|\/)\.mount_/.test(place)) {
    return {
      why: "is inside a running AppImage, which is read-only",
      remedy: "Unpack the AppImage with --appimage-extract, then name the folder squashfs-root with --app.",
    };
  }
  if (/^\/(var\/lib\/snapd\/)?snap\//.test(place)) {
    return {
      why: "is a snap, which is read-only",
      remedy: "Install Cursor from its own .deb or AppImage instead.",
    };
  }
  if (/\/\.cursor-server(\/|$)/.test(place)) {
    return {
      why: "is Cursor's server for remote work, which shows no answers",
      remedy: "Patch the Cursor on your own machine instead.",
    };
  }
  return undefined;
}
