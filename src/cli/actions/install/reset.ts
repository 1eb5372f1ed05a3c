import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, parse, resolve } from "node:path";
import { openAccounts } from "../../../app/accounts/open-accounts.ts";
import { loadConfig } from "../../../app/load-config.ts";
import { ConnectedClients } from "../../../client-config/connected-clients.ts";
import { homeFolder } from "../../../config/home.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { gatewayAddress } from "../../gateway-address.ts";
import { createClient } from "../../gateway-client.ts";
import { GatewayService } from "../../service/service.ts";
import { askYesNo } from "../../terminal/ask-yes-no.ts";

export interface ResetFlags {
  readonly yes: boolean;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly json: boolean;
}

/** One thing that a reset undoes. */
interface Removal {
  readonly type: "service" | "client" | "login" | "file";
  readonly name: string;
  readonly text: string;
}

/** Lists what Excursor did on this machine, asks, and undoes it. */
export async function runReset({ yes, dryRun, force, json }: ResetFlags): Promise<void> {
  const home = homeFolder(process.env);
  refuseWideFolder(home);
  const service = findService();
  const clients = new ConnectedClients(join(home, "connections"));
  const removals = listRemovals(home, service, clients);
  if (json) process.stdout.write(`${JSON.stringify(removals)}\n`);
  else if (removals.length === 0) process.stdout.write("There is nothing to undo.\n");
  else process.stdout.write(`This will be undone:\n${removals.map(({ text }) => `  ${text}\n`).join("")}`);
  if (dryRun || removals.length === 0) return;
  if (!yes) {
    if (!process.stdin.isTTY) {
      throw new ExcursorError("config", "There is no terminal to ask on. Nothing was changed.", {
        code: "no_terminal",
        hint: "Use --yes to reset without a question.",
      });
    }
    if (!(await askYesNo("Undo all of it? It cannot be restored.", false))) return;
  }
  const changed = clients.list().filter(({ isChanged }) => isChanged);
  if (changed.length > 0 && !force) throw changedClients(changed);
  service?.uninstall();
  await refuseRunningGateway();
  for (const { id } of clients.list()) clients.disconnect(id, { force });
  await removeLogins();
  rmSync(home, { recursive: true, force: true });
  removeEmptyParents(dirname(home));
  if (!json) process.stdout.write("Done. `npm uninstall -g excursor` removes the program itself.\n");
}

function listRemovals(
  home: string,
  service: GatewayService | undefined,
  clients: ConnectedClients,
): readonly Removal[] {
  const files = existsSync(home) ? readdirSync(home).sort() : [];
  const removals: Removal[] = [];
  if (service?.isInstalled) {
    removals.push({ type: "service", name: service.file, text: `stop and remove the service (${service.file})` });
  }
  for (const { id, file, isChanged } of clients.list()) {
    const note = isChanged ? ", which has changed since" : "";
    removals.push({ type: "client", name: id, text: `disconnect ${id}: restore ${file}${note}` });
  }
  for (const name of signedIn()) removals.push({ type: "login", name, text: `sign out the account ${name}` });
  for (const name of files) removals.push({ type: "file", name: join(home, name), text: `delete ${join(home, name)}` });
  return removals;
}

/** Undefined where there are no services, for example on Windows. */
function findService(): GatewayService | undefined {
  try {
    return new GatewayService();
  } catch {
    return undefined;
  }
}

const open = () =>
  openAccounts(loadConfig({ flags: {}, environment: process.env }), { onSecret: () => {}, onNotice: () => {} });

/** Accounts may be in the system's keychain. If the settings cannot be read, only the files are removed. */
function signedIn(): readonly string[] {
  try {
    const { store, close } = open();
    const names = store.list().map(({ name }) => name);
    close();
    return names;
  } catch {
    return [];
  }
}

async function removeLogins(): Promise<void> {
  if (signedIn().length === 0) return;
  const { store, close } = open();
  await store.lock.run(async () => {
    for (const { name } of store.list()) await store.remove(name);
  });
  close();
}

/** EXCURSOR_HOME can name any folder. A folder that has more than our files must not be deleted. */
function refuseWideFolder(home: string): void {
  const path = resolve(home);
  if (path !== parse(path).root && path !== resolve(homedir()) && path !== resolve(process.cwd())) return;
  throw new ExcursorError("config", `The home folder of Excursor is ${path}, which holds more than its files.`, {
    code: "home_too_wide",
    hint: "Delete the files of Excursor there by hand: config.json, key, accounts.json, state.db and usage.db.",
  });
}

async function refuseRunningGateway(): Promise<void> {
  let url = "";
  try {
    const address = gatewayAddress({});
    url = address.url;
    await createClient(address).call("/v1/models");
  } catch {
    // No gateway answers, or the settings cannot be read: a reset must also help then.
    return;
  }
  throw new ExcursorError("busy", `A gateway runs at ${url} and uses these files.`, {
    code: "gateway_runs",
    hint: "Stop it first, for example with Ctrl-C in its terminal.",
  });
}

const changedClients = (clients: readonly { readonly id: string; readonly file: string }[]): ExcursorError =>
  new ExcursorError(
    "config",
    `Changed since they were connected: ${clients.map(({ file }) => file).join(", ")}. Nothing was undone.`,
    {
      code: "client_config_changed",
      hint: "--force restores the previous files and keeps copies of the changed ones.",
    },
  );

/** Removes folders that are empty now, up to the user's own folder. */
function removeEmptyParents(folder: string): void {
  if (!folder.startsWith(join(homedir(), "/"))) return;
  try {
    rmdirSync(folder);
    removeEmptyParents(dirname(folder));
  } catch {
    // Others use it.
  }
}
