import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { type LoadedConfig, loadConfig } from "../../app/load-config.ts";
import type { ClientGuide, GuidedGateway } from "../../client-config/client-recipe.ts";
import { editJson } from "../../client-config/edit-json.ts";
import { openHome } from "../../config/home.ts";
import { keyOf } from "../../config/key-file.ts";
import { ExcursorError } from "../../core/errors.ts";
import { jsonText } from "../../core/printable.ts";
import type { JsonValue } from "../../core/turn.ts";
import { writePrivate } from "../../files/write-private.ts";
import { checkPortIsKnown, findGateway, gatewayAddress } from "../gateway-address.ts";
import { createClient } from "../gateway-client.ts";
import { offeredModels } from "../offered-models.ts";

export interface GuideFlags {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly tunnel?: string | undefined;
  readonly write: boolean;
  readonly json: boolean;
}

const TUNNEL_TIMEOUT_MS = 15_000;

/** Prints what to do by hand. If a tunnel is given, writes the gateway's settings for it and tries it. */
export async function runGuide(guide: ClientGuide, flags: GuideFlags): Promise<void> {
  checkPortIsKnown(gatewayAddress(flags));
  const address = await findGateway(flags);
  const loaded = loadConfig({ flags: {}, environment: process.env });
  const tunnel = flags.tunnel === undefined ? undefined : readTunnel(flags.tunnel);
  const models = await offeredModels(createClient(address));
  // Always the same secret, because Cursor may already have it.
  const pathSecret = (loaded.values.pathSecret ?? keyOf(loaded.home, "path-secret")).reveal();
  const missing = missingSettings(loaded, address.url, tunnel, pathSecret);
  // A remote gateway has its own settings.
  const isOurs = tunnel !== undefined && isLocal(new URL(address.url));
  const writtenTo = isOurs && flags.write ? writeSettings(loaded, missing) : undefined;
  const gateway: GuidedGateway = { url: address.url, models, tunnel, pathSecret, missing, writtenTo };
  const baseURL = guide.baseUrl(gateway);
  const isReached = tunnel === undefined ? undefined : await isAnswered(`${baseURL}/models`, address.key.reveal());
  const steps = guide.steps(gateway);
  if (flags.json) {
    const outcome = { client: guide.id, baseURL, isReached: isReached ?? null, writtenTo: writtenTo ?? null, steps };
    process.stdout.write(`${jsonText(outcome)}\n`);
  } else {
    const numbered = steps.map((step, index) => `${index + 1}. ${step.replaceAll("\n", "\n     ")}\n`);
    process.stdout.write(`You have to configure ${guide.title} by hand:\n\n${numbered.join("\n")}\n`);
    if (isReached === undefined)
      process.stdout.write(
        "When the tunnel is open, run this again with `--tunnel URL` to add the settings and test the tunnel.\n",
      );
    if (isReached) process.stdout.write(`ok  the gateway answers at ${baseURL}\n`);
  }
  if (isReached === false) throw notReached(gateway);
}

function missingSettings(
  { values }: LoadedConfig,
  gatewayUrl: string,
  tunnel: string | undefined,
  pathSecret: string,
): Readonly<Record<string, JsonValue>> {
  const url = tunnel === undefined ? undefined : new URL(tunnel);
  const host = url?.host ?? "YOUR-TUNNEL";
  // The gate knows the gateway's own address. Loopback with another port must be listed.
  const isKnown = values.hosts.includes(host) || host === new URL(gatewayUrl).host;
  const hosts = [...values.hosts, host];
  return { ...(!isKnown && { hosts }), ...(values.pathSecret === undefined && { pathSecret }) };
}

/** Writes settings into our file, unless the environment would override them. Returns the file if they were written. */
function writeSettings(
  { home, origins }: LoadedConfig,
  missing: Readonly<Record<string, JsonValue>>,
): string | undefined {
  const changes = Object.entries(missing);
  if (changes.length === 0 || changes.some(([name]) => origins.get(name)?.startsWith("EXCURSOR_"))) return undefined;
  openHome(home);
  const path = join(home, "config.json");
  const file = existsSync(path) ? realpathSync(path) : path;
  const text = existsSync(file) ? readFileSync(file, "utf8").replace(/^\ufeff/, "") : "";
  const edited = editJson(
    text,
    changes.map(([name, value]) => [[name], value] as const),
  );
  writePrivate(file, edited, { isUnlocked: true });
  return path;
}

const notReached = ({ tunnel, writtenTo, url }: GuidedGateway): ExcursorError =>
  new ExcursorError("tunnel_unreachable", [tunnel ?? ""], {
    hint:
      writtenTo === undefined
        ? `Check that the tunnel leads to ${url} and that the gateway runs with the settings above.`
        : `Restart the gateway so that it reads the settings, and check that the tunnel leads to ${url}. Then run this again.`,
  });

/** True if a list of models is returned. Some tunnels answer by themselves. */
async function isAnswered(url: string, key: string): Promise<boolean> {
  try {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${key}` },
      redirect: "error",
      signal: AbortSignal.timeout(TUNNEL_TIMEOUT_MS),
    });
    return response.ok && ((await response.json()) as { object?: unknown }).object === "list";
  } catch {
    return false;
  }
}

/** Throws unless it is https, or http on this machine: the key goes through it. */
function readTunnel(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url && url.pathname === "/" && (url.protocol === "https:" || (url.protocol === "http:" && isLocal(url))))
    return url.origin;
  throw new ExcursorError("invalid-request", "--tunnel: expected an https URL without a path.", {
    field: "--tunnel",
  });
}

const isLocal = ({ hostname }: URL): boolean => ["127.0.0.1", "localhost", "[::1]"].includes(hostname);
