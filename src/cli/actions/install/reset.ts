import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, parse, resolve } from "node:path";
import { ConnectedClients } from "../../../client-config/connected-clients.ts";
import { openDoors } from "../../../config/doors.ts";
import { homeFolder } from "../../../config/home.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { jsonText, printable } from "../../../core/printable.ts";
import { findService } from "../../service/service.ts";
import { askYesNo } from "../../terminal/ask-yes-no.ts";
import { ownNames, removeIfEmpty, removeOwn } from "./own-files.ts";
import { undoIdePatches } from "./undo-ide-patches.ts";
import { undoLogins } from "./undo-logins.ts";
import type { UndoStep } from "./undo-step.ts";

export interface ResetFlags {
  readonly yes: boolean;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly json: boolean;
}

/** Lists what Excursor did on this machine, asks, and undoes it. */
export async function runReset({ yes, dryRun, force, json }: ResetFlags): Promise<void> {
  const home = homeFolder(process.env);
  refuseWideFolder(home);
  const clients = new ConnectedClients(join(home, "connections"));
  const service = undoService();
  const first = [...undoIdePatches(home, force), ...service];
  const rest = [...undoClients(clients), ...undoLogins(home), ...undoFiles(home)];
  const steps = [...first, ...rest];
  if (json) process.stdout.write(`${jsonText(steps.map(({ type, name, text }) => ({ type, name, text })))}\n`);
  else process.stdout.write(formatList(steps));
  if (dryRun || steps.length === 0) return;
  if (!yes) {
    if (!process.stdin.isTTY) {
      throw new ExcursorError("no_terminal", "There is no terminal to ask on. Nothing was changed.", {
        hint: "Use --yes to reset without a question.",
      });
    }
    if (!(await askYesNo("Undo all of it? It cannot be restored.", false))) return;
  }
  if (service.length === 0) await refuseRunningGateway(home);
  for (const { undo } of first) await undo();
  // Another gateway than the service's may run.
  await refuseRunningGateway(home);
  for (const { undo } of rest) await undo();
  if (removeIfEmpty(home)) removeEmptyParents(dirname(resolve(home)));
  if (!json) process.stdout.write(`Done.\n${leftIn(home)}`);
}

function formatList(steps: readonly UndoStep[]): string {
  const done =
    steps.length === 0
      ? "There is nothing to undo.\n"
      : `This will be undone:\n${steps.map(({ text }) => `  ${text}\n`).join("")}`;
  const left = ["the program: npm uninstall -g excursor", ...completionLines()];
  return `${done}This is left to you:\n${left.map((text) => `  ${text}\n`).join("")}`;
}

/** The files of shells to which users add completion, by docs/install.md. */
const SHELL_FILES = [".bashrc", ".bash_profile", ".profile", ".zshrc", ".config/fish/config.fish"];

function completionLines(): readonly string[] {
  return SHELL_FILES.map((name) => join(homedir(), name))
    .filter(hasCompletion)
    .map((file) => `the completion: remove the line with \`excursor completion\` from ${file}`);
}

function hasCompletion(file: string): boolean {
  try {
    return readFileSync(file, "utf8").includes("excursor completion");
  } catch {
    return false;
  }
}

function undoService(): readonly UndoStep[] {
  const service = findService();
  if (!service?.isInstalled) return [];
  return [
    {
      type: "service",
      name: service.file,
      text: `stop and remove the service (${service.file})`,
      undo: async () => void service.uninstall(),
    },
  ];
}

const undoClients = (clients: ConnectedClients): readonly UndoStep[] =>
  clients.list().map(({ id, file, isChanged }) => ({
    type: "client",
    name: id,
    text: `disconnect ${id}: restore ${file}${isChanged ? ", and keep its later changes" : ""}`,
    undo: async () => void clients.disconnect(id),
  }));

const undoFiles = (home: string): readonly UndoStep[] =>
  ownNames(home).map((name) => ({
    type: "file",
    name: join(home, name),
    text: `delete ${join(home, name)}`,
    undo: async () => removeOwn(home, name),
  }));

/** Names what Excursor did not write, so that it stays. */
function leftIn(home: string): string {
  const names = existsSync(home) ? readdirSync(home).sort() : [];
  return names.length === 0
    ? ""
    : `Left in ${home}, since Excursor did not write it: ${names.map(printable).join(", ")}\n`;
}

/** EXCURSOR_HOME can name any folder, also by a link. One that has more than our files is refused. */
function refuseWideFolder(home: string): void {
  const path = realPath(home);
  if (path !== parse(path).root && path !== realPath(homedir()) && path !== realPath(process.cwd())) return;
  throw new ExcursorError("home_too_wide", [path]);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

async function refuseRunningGateway(home: string): Promise<void> {
  const [door] = await openDoors(home);
  if (door) throw new ExcursorError("gateway_runs", [door.port]);
}

/** Removes folders that are empty now, up to the user's own folder. */
function removeEmptyParents(folder: string): void {
  if (folder.startsWith(join(homedir(), "/")) && removeIfEmpty(folder)) removeEmptyParents(dirname(folder));
}
