import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { OfferedGateway } from "../../client-config/client-recipe.ts";
import { ConnectedClients } from "../../client-config/connected-clients.ts";
import { RECIPES } from "../../client-config/recipes/index.ts";
import { SNIPPETS } from "../../client-config/snippets.ts";
import type { ModelInfo } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { ClientSources } from "../../dashboard/calls/clients.ts";
import type { ClientRow, CursorWay, DiffLine } from "../../dashboard/messages.ts";
import { readSmallFile } from "../../files/read-small-file.ts";
import { OWNER } from "../../server/gate/keys/caller-keys.ts";
import type { Config } from "../load-config.ts";
import type { OpenEngine, RunningGateway } from "../open-gateway.ts";
import { thisMachine } from "../this-machine.ts";
import { lineDiff } from "./line-diff.ts";

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_LINES = 300;
const MAX_LINE_CHARS = 300;
const CHECK_MS = 1000;

export interface ClientReportParts {
  readonly home: string;
  readonly config: Config;
  readonly opened: OpenEngine;
  /** Undefined while the gateway starts. */
  readonly running: () => RunningGateway | undefined;
}

/** Returns what the dashboard shows of clients. It reads their files and changes none. */
export function clientSources({ home, config, opened, running }: ClientReportParts): ClientSources {
  const { parts, redactor } = opened;
  const connected = new ConnectedClients(join(home, "connections"));
  const fileOf = (id: string, usual: string) => connected.find(id)?.file ?? usual;
  return {
    async list() {
      const machine = thisMachine();
      const url = running()?.url ?? "";
      return {
        clients: RECIPES.map(({ id, title, file: usualFile }): ClientRow => {
          const client = connected.find(id);
          const file = fileOf(id, usualFile(machine));
          const state = client ? (client.isChanged ? "changed" : "connected") : "none";
          return { id, title, file, hasFile: existsSync(file), state };
        }),
        snippets: SNIPPETS.map(({ id, title, text }) => ({ id, title, text: text({ url, model: "auto" }) })),
        cursor: await cursorWays(config, running()),
      };
    },
    async diff(id, signal) {
      const recipe = RECIPES.find((one) => one.id === id);
      const gateway = running();
      if (!recipe || !gateway) {
        throw new ExcursorError("unknown_client", "There is no such client.", { hint: null });
      }
      const file = fileOf(id, recipe.file(thisMachine()));
      const models = (await parts.engine.listModels(OWNER, signal)).map(offered);
      const before = readSmallFile(file, MAX_FILE_BYTES) ?? "";
      const given: OfferedGateway = { url: gateway.url, key: gateway.key, model: "auto", models };
      const lines = await lineDiff(before, recipe.edit(before.replace(/^\ufeff/, ""), given));
      return {
        file,
        // The file may hold keys of other services.
        lines: lines
          .slice(0, MAX_LINES)
          .map(({ kind, text }): DiffLine => ({ kind, text: redactor.redact(text).slice(0, MAX_LINE_CHARS) })),
        isCut: lines.length > MAX_LINES,
      };
    },
  };
}

const offered = ({ id, displayName, aliases, contextTokens, isThinking, supportsImages }: ModelInfo) => ({
  id,
  name: displayName,
  aliases,
  window: contextTokens,
  isThinking,
  supportsImages,
});

async function cursorWays(config: Config, running: RunningGateway | undefined): Promise<readonly CursorWay[]> {
  const { cursorUrl, bridgeUrl } = running ?? {};
  const [face, bridge] = await Promise.all([answers(cursorUrl), answers(bridgeUrl)]);
  const hasSecret = config.pathSecret !== undefined;
  return [
    {
      id: "face",
      title: "Cursor's own clients",
      purpose: "Cursor's CLI and SDK use your own models and agents beside Cursor's, without a patch.",
      isOn: face,
      finding: face ? `listens at ${cursorUrl}` : "The Cursor face is off.",
      command: "excursor serve --cursor-face",
    },
    {
      id: "base-url",
      title: "The IDE, by its base URL",
      purpose: "The box “Override OpenAI Base URL” of the IDE sends chats to this gateway, through a tunnel.",
      isOn: hasSecret,
      finding: hasSecret ? "A secret path for the tunnel is set." : "No tunnel is set up.",
      command: "excursor connect cursor --tunnel https://YOUR-TUNNEL",
    },
    {
      id: "bridge",
      title: "The IDE, by the agent bridge",
      purpose: "Agents of this machine appear inside the IDE.",
      isOn: bridge,
      finding: bridge ? `listens at ${bridgeUrl}` : "The bridge is off.",
      command: "excursor serve --bridge",
    },
  ];
}

/** True if something accepts connections at an address. */
async function answers(url: string | undefined): Promise<boolean> {
  if (url === undefined) return false;
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) });
  socket.setTimeout(CHECK_MS, () => resolve(false));
  socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  const isOn = await promise;
  socket.destroy();
  return isOn;
}
