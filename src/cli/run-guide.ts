import { randomBytes } from "node:crypto";
import { loadConfig } from "../config/load-config.ts";
import type { ClientGuide, GuidedGateway } from "../connect/client-recipe.ts";
import { ExcursorError } from "../core/errors.ts";
import { checkPortIsKnown, gatewayAddress } from "./gateway-address.ts";
import { createClient } from "./gateway-client.ts";
import { offeredModels } from "./offered-models.ts";

export interface GuideFlags {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly tunnel?: string | undefined;
  readonly json: boolean;
}

/** Says what to do by hand. With a tunnel that is known it is tried, as far as it can be from here. */
export async function runGuide(guide: ClientGuide, flags: GuideFlags): Promise<void> {
  const address = gatewayAddress(flags);
  checkPortIsKnown(address);
  const { pathSecret } = loadConfig({ flags: {}, environment: process.env }).values;
  const gateway: GuidedGateway = {
    url: address.url,
    models: await offeredModels(createClient(address)),
    tunnel: flags.tunnel === undefined ? undefined : readTunnel(flags.tunnel),
    pathSecret: {
      value: pathSecret?.reveal() ?? randomBytes(18).toString("base64url"),
      isSet: pathSecret !== undefined,
    },
  };
  const baseURL = guide.baseUrl(gateway);
  const isReached =
    gateway.tunnel === undefined ? undefined : await isAnswered(`${baseURL}/models`, address.key.reveal());
  const steps = guide.steps(gateway);
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ client: guide.id, baseURL, isReached: isReached ?? null, steps })}\n`);
    return;
  }
  const numbered = steps.map((step, index) => `${index + 1}. ${step.replaceAll("\n", "\n     ")}\n`);
  process.stdout.write(
    `${guide.title} has to be told by hand:\n\n${numbered.join("\n")}\n${verdict(isReached, baseURL)}`,
  );
}

function verdict(isReached: boolean | undefined, baseURL: string): string {
  if (isReached === undefined) return "Once the tunnel is open, `--tunnel URL` fills it in and tries it.\n";
  return isReached ? `ok  the gateway answers at ${baseURL}\n` : `no  nothing of ours answers at ${baseURL} yet\n`;
}

async function isAnswered(url: string, key: string): Promise<boolean> {
  try {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` }, redirect: "error" });
    return response.ok;
  } catch {
    return false;
  }
}

/** The key goes through it: never in the clear, but to try it on this machine. */
function readTunnel(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isLocal = url?.protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  if (url && url.pathname === "/" && (url.protocol === "https:" || isLocal)) return url.origin;
  throw new ExcursorError("invalid-request", "--tunnel: expected an https address without a path.", {
    field: "--tunnel",
  });
}
