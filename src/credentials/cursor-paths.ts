import { posix, win32 } from "node:path";

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly homeFolder: string;
}

/** Returns the files in which Cursor's CLI may keep its login, most likely first. */
export function cliAuthFiles({ platform, environment, homeFolder }: Machine): readonly string[] {
  if (platform === "win32") return [win32.join(roaming(environment, homeFolder), "Cursor", "auth.json")];
  if (platform === "darwin") return [posix.join(homeFolder, ".cursor", "auth.json")];
  const config = environment["XDG_CONFIG_HOME"] || posix.join(homeFolder, ".config");
  return [posix.join(config, "cursor", "auth.json"), posix.join(homeFolder, ".cursor", "auth.json")];
}

export function ideStateFile({ platform, environment, homeFolder }: Machine): string {
  const inside = ["Cursor", "User", "globalStorage", "state.vscdb"];
  if (platform === "win32") return win32.join(roaming(environment, homeFolder), ...inside);
  if (platform === "darwin") return posix.join(homeFolder, "Library", "Application Support", ...inside);
  return posix.join(environment["XDG_CONFIG_HOME"] || posix.join(homeFolder, ".config"), ...inside);
}

const roaming = ({ APPDATA }: Machine["environment"], homeFolder: string): string =>
  APPDATA || win32.join(homeFolder, "AppData", "Roaming");
