import { loadConfig } from "../app/load-config.ts";
import { keyOf } from "../config/key-file.ts";
import { ExcursorError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";

export interface GatewayAddress {
  readonly url: string;
  readonly key: Secret;
}

export interface AddressFlags {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}

export function gatewayAddress({ url, ...flags }: AddressFlags): GatewayAddress {
  const { values, home } = loadConfig({ flags: { ...flags }, environment: process.env });
  return { url: url?.replace(/\/(?:v1\/?)?$/, "") ?? urlOf(values.host, values.port), key: values.key ?? keyOf(home) };
}

/** Returns the URL of a gateway that listens there, for programs on this machine. */
export function urlOf(host: string, port: number): string {
  if (host === "0.0.0.0" || host === "::") return `http://127.0.0.1:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Throws if the port is picked on every start, so that it cannot be written down. */
export function checkPortIsKnown({ url }: GatewayAddress): void {
  if (!url.endsWith(":0")) return;
  throw new ExcursorError("config", "The port is 0, so the gateway picks another port at every start.", {
    hint: "Set another one: `port` in the settings, or EXCURSOR_PORT. Some commands also take --port.",
  });
}
