import { accessSync, constants } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { ClientRecipe, Machine } from "../client-config/client-recipe.ts";
import { RECIPES } from "../client-config/recipes/index.ts";

/** The programs of clients whose name differs from the client's. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "claude-code": "claude",
  continue: "cn",
  vscode: "code",
  "gemini-cli": "gemini",
  "qwen-code": "qwen",
};

/** Returns the clients that seem to be installed: their configuration is there, or a folder for it, or their program. */
export const findClients = (machine: Machine): readonly ClientRecipe[] =>
  RECIPES.filter((recipe) => {
    const file = recipe.file(machine);
    return (
      machine.exists(file) ||
      (isOwnFolder(dirname(file), machine) && machine.exists(dirname(file))) ||
      isOnPath(PROGRAMS[recipe.id] ?? recipe.id, machine)
    );
  });

/** False for the folders in which many programs have files. */
const isOwnFolder = (folder: string, { home, environment }: Machine): boolean =>
  ![home, join(home, ".config"), environment["XDG_CONFIG_HOME"], environment["APPDATA"]].includes(folder);

function isOnPath(program: string, { environment, platform }: Machine): boolean {
  const endings = platform === "win32" ? [".exe", ".cmd"] : [""];
  return (environment["PATH"] ?? "")
    .split(delimiter)
    .some((folder) => folder !== "" && endings.some((ending) => isProgram(join(folder, program + ending))));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
