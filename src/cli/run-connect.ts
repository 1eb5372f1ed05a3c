import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { styleText } from "node:util";
import { openHome } from "../config/home.ts";
import { loadConfig } from "../config/load-config.ts";
import type { ClientRecipe, Machine, OfferedGateway } from "../connect/client-recipe.ts";
import { Connections } from "../connect/connections.ts";
import { GUIDES, RECIPES } from "../connect/recipes/index.ts";
import { ExcursorError } from "../core/errors.ts";
import { askInDialect, dialectTitle } from "./ask-in-dialect.ts";
import { formatTable } from "./format-table.ts";
import { checkPortIsKnown, gatewayAddress } from "./gateway-address.ts";
import { createClient } from "./gateway-client.ts";
import { offeredModels } from "./offered-models.ts";
import { runGuide } from "./run-guide.ts";
import { startSpinner } from "./spinner.ts";

export interface ConnectFlags {
  readonly model: string;
  readonly file?: string | undefined;
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly tunnel?: string | undefined;
  readonly json: boolean;
}

/** Writes a client's configuration and asks a question in its dialect. If anything fails, all is as it was. */
export async function runConnect(client: string | undefined, flags: ConnectFlags): Promise<void> {
  const connections = openConnections();
  if (client === undefined) {
    process.stdout.write(formatState(connections, flags.json));
    return;
  }
  const guide = GUIDES.find(({ id }) => id === client);
  if (guide) {
    await runGuide(guide, flags);
    return;
  }
  const recipe = findRecipe(client);
  const address = gatewayAddress(flags);
  checkPortIsKnown(address);
  const gateway = createClient(address);
  const file = resolve(flags.file ?? recipe.file(thisMachine()));
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  const report = createReport(flags.json);
  const wasConnected = connections.find(recipe.id) !== undefined;
  try {
    const models = await report.step("the gateway answers", () => offeredModels(gateway), `at ${address.url}`);
    const offered: OfferedGateway = { ...address, model: flags.model, models };
    await report.step(
      "the configuration is written",
      () => {
        connections.connect(recipe.id, file, (text) => recipe.edit(text, offered));
      },
      file,
    );
    await report.step(
      "a streamed answer came",
      () => askInDialect(recipe.dialect, gateway, flags.model, interrupt.signal),
      `in ${dialectTitle(recipe.dialect)}, from ${flags.model}`,
    );
    report.end(recipe, file, offered);
  } catch (error) {
    if (!wasConnected) connections.disconnect(recipe.id);
    if (!interrupt.signal.aborted) throw error;
    process.stderr.write("Taken back: nothing was changed.\n");
    process.exitCode = 130;
  }
}

export function openConnections(): Connections {
  const { home } = loadConfig({ flags: {}, environment: process.env });
  openHome(home);
  return new Connections(join(home, "connections"));
}

function findRecipe(client: string): ClientRecipe {
  const recipe = RECIPES.find(({ id }) => id === client);
  if (recipe) return recipe;
  throw new ExcursorError("invalid-request", `There is no recipe for ${JSON.stringify(client)}.`, {
    code: "unknown_client",
    hint: `There are: ${[...RECIPES, ...GUIDES].map(({ id }) => id).join(", ")}. Any other client takes the values of \`excursor env\`.`,
  });
}

const thisMachine = (): Machine => ({
  home: homedir(),
  platform: process.platform,
  environment: process.env,
  exists: existsSync,
});

/** Says step by step what passed; as JSON, all at the end. */
function createReport(isJson: boolean) {
  const passed: { readonly step: string; readonly detail: string; readonly ms: number }[] = [];
  return {
    async step<T>(step: string, work: () => T | Promise<T>, detail: string): Promise<T> {
      const spinner = startSpinner();
      const startedAt = performance.now();
      try {
        const result = await work();
        passed.push({ step, detail, ms: Math.round(performance.now() - startedAt) });
        spinner.stop();
        if (!isJson)
          process.stdout.write(`${styleText("green", "ok", { stream: process.stdout })}  ${step}: ${detail}\n`);
        return result;
      } finally {
        spinner.stop();
      }
    },
    end({ id, title, next }: ClientRecipe, file: string, gateway: OfferedGateway) {
      const notes = next(gateway);
      if (isJson) {
        process.stdout.write(`${JSON.stringify({ client: id, file, passed, next: notes })}\n`);
        return;
      }
      const lines = notes.map((note) => `  ${note}\n`).join("");
      process.stdout.write(
        `\n${title} is connected.\n\n${lines}\n\`excursor disconnect ${id}\` puts everything back.\n`,
      );
    },
  };
}

function formatState(connections: Connections, isJson: boolean): string {
  const connected = new Map(connections.list().map((connection) => [connection.id, connection]));
  const rows = RECIPES.map(({ id, title }) => ({ id, title, connection: connected.get(id) }));
  if (isJson) {
    return `${JSON.stringify(rows.map(({ id, connection }) => ({ client: id, file: connection?.file ?? null, changed: connection?.isChanged ?? false })))}\n`;
  }
  return formatTable(
    ["CLIENT", "NAME", "CONNECTED"],
    rows.map(({ id, title, connection }) => [
      id,
      title,
      connection ? `${connection.file}${connection.isChanged ? " (changed since)" : ""}` : "",
    ]),
  );
}
