import { resolve } from "node:path";
import { openConnectedClients } from "../../app/open-connected-clients.ts";
import { thisMachine } from "../../app/this-machine.ts";
import type { ClientRecipe, OfferedGateway } from "../../client-config/client-recipe.ts";
import type { ConnectedClients } from "../../client-config/connected-clients.ts";
import { GUIDES, RECIPES } from "../../client-config/recipes/index.ts";
import { SNIPPETS } from "../../client-config/snippets.ts";
import { ExcursorError } from "../../core/errors.ts";
import { jsonText } from "../../core/printable.ts";
import { askInDialect, dialectTitle } from "../dialects/ask-in-dialect.ts";
import { exitCodeOf } from "../exit-codes.ts";
import { checkPortIsKnown, findGateway, gatewayAddress } from "../gateway-address.ts";
import { createClient } from "../gateway-client.ts";
import { offeredModels } from "../offered-models.ts";
import { PROOFS, type Proof } from "../proofs.ts";
import { proveAddress } from "../proven-gateway.ts";
import { createReport } from "../terminal/connect-report.ts";
import { formatTable } from "../terminal/format-table.ts";
import { runGuide } from "./guide.ts";

export interface ConnectFlags {
  readonly model: string;
  readonly file?: string | undefined;
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly tunnel?: string | undefined;
  /** The build of Cursor that asks a gateway only. */
  readonly private?: boolean | undefined;
  readonly prove: boolean;
  readonly write: boolean;
  readonly json: boolean;
}

/**
 * Writes a client's configuration and asks a question in its dialect. Undoes everything if a step fails. With `prove`,
 * asks about the other features, too.
 */
export async function runConnect(named: string | undefined, flags: ConnectFlags): Promise<void> {
  const client = flags.private ? privateBuild(named) : named;
  const connectedClients = openConnectedClients();
  if (client === undefined) {
    process.stdout.write(formatState(connectedClients, flags.json));
    return;
  }
  if (flags.prove && !RECIPES.some(({ id }) => id === client)) throw nothingToProve(client);
  const guide = GUIDES.find(({ id }) => id === client);
  if (guide) {
    await runGuide(guide, flags);
    return;
  }
  const snippet = SNIPPETS.find(({ id }) => id === client);
  if (snippet) {
    const text = snippet.text({ ...gatewayAddress(flags), model: flags.model });
    process.stdout.write(flags.json ? `${jsonText({ client: snippet.id, text })}\n` : text);
    return;
  }
  const recipe = findRecipe(client);
  checkPortIsKnown(gatewayAddress(flags));
  const address = await findGateway(flags);
  await proveAddress(address, true);
  const gateway = createClient(address);
  const file = resolve(flags.file ?? recipe.file(thisMachine()));
  const interrupt = new AbortController();
  const abort = () => interrupt.abort();
  process.once("SIGINT", abort);
  const report = createReport(flags.json);
  let undo = () => {};
  try {
    const models = await report.step("the gateway answers", () => offeredModels(gateway), `at ${address.url}`);
    const offered: OfferedGateway = { ...address, model: flags.model, models };
    await report.step(
      "the configuration is written",
      () => {
        undo = connectedClients.connect(recipe.id, file, (text) => recipe.edit(text, offered));
      },
      file,
    );
    const run = ({ run }: Proof) =>
      run((question) => askInDialect(recipe.dialect, gateway, { ...question, model: flags.model }, interrupt.signal));
    const [chat, ...others] = PROOFS;
    await report.step(
      "a test answer was streamed",
      () => run(chat),
      `in ${dialectTitle(recipe.dialect)}, from ${flags.model}`,
    );
    // Chat works from here on, so the configuration stays whatever the other proofs show.
    if (flags.prove) {
      const model = models.find(({ id, aliases }) => [id, ...aliases].includes(flags.model));
      for (const proof of others)
        await report.prove(proof.id, proof.obstacle?.(model), () => run(proof), interrupt.signal);
      if (report.hasFailedProofs) process.exitCode = exitCodeOf("upstream-failed");
    }
    report.end(recipe, file, offered);
  } catch (error) {
    undo();
    if (!interrupt.signal.aborted) throw error;
    process.stderr.write("Undone: the client's configuration is unchanged.\n");
    process.exitCode = 130;
  } finally {
    process.off("SIGINT", abort);
  }
}

function privateBuild(client: string | undefined): string {
  if (client === "cursor") return "cursor-private";
  throw new ExcursorError("invalid-request", "--private is for cursor: excursor connect cursor --private.", {
    field: "--private",
  });
}

function findRecipe(client: string): ClientRecipe {
  const recipe = RECIPES.find(({ id }) => id === client);
  if (recipe) return recipe;
  throw unknownClient(client);
}

const unknownClient = (client: string): ExcursorError =>
  new ExcursorError("unknown_client", `Excursor cannot configure the client ${JSON.stringify(client)}.`, {
    hint: `Known clients: ${[...RECIPES, ...GUIDES, ...SNIPPETS].map(({ id }) => id).join(", ")}. Configure any other client with the values of \`excursor env\`.`,
  });

/** An unknown client has its own error. */
const nothingToProve = (client: string): ExcursorError => {
  if (![...GUIDES, ...SNIPPETS].some(({ id }) => id === client)) return unknownClient(client);
  return new ExcursorError("nothing_to_prove", [client, client, RECIPES.map(({ id }) => id).join(", ")]);
};

function formatState(connectedClients: ConnectedClients, isJson: boolean): string {
  const connected = new Map(connectedClients.list().map((connection) => [connection.id, connection]));
  const rows = RECIPES.map(({ id, title }) => ({ id, title, connection: connected.get(id) }));
  if (isJson) {
    return `${jsonText(rows.map(({ id, connection }) => ({ client: id, file: connection?.file ?? null, changed: connection?.isChanged ?? false })))}\n`;
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
