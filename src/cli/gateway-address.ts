import { loadConfig } from "../app/load-config.ts";
import { openDoors } from "../config/doors.ts";
import { keyOf } from "../config/key-file.ts";
import { ExcursorError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";

export interface GatewayAddress {
  readonly url: string;
  readonly key: Secret;
  /** The socket of a gateway of this user. Absent: the user has typed the URL, or the gateway is ours. */
  readonly door?: { readonly address: string; readonly isKeyGiven: boolean };
}

export interface AddressFlags {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}

/** Returns the address that the flags and the settings name, whether a gateway runs there or not. */
export function gatewayAddress({ url, ...flags }: AddressFlags): GatewayAddress {
  const { values, home } = loadConfig({ flags: { ...flags }, environment: process.env });
  return { url: url?.replace(/\/(?:v1\/?)?$/, "") ?? urlOf(values.host, values.port), key: values.key ?? keyOf(home) };
}

/** Returns the gateway of a typed URL, or the one behind the door of this port, or behind the only one. */
export async function findGateway(flags: AddressFlags): Promise<GatewayAddress> {
  if (flags.url !== undefined) return gatewayAddress(flags);
  const { values, home } = loadConfig({ flags: { ...flags }, environment: process.env });
  const doors = await openDoors(home);
  const wanted = doors.find(({ port }) => port === values.port);
  const door = wanted ?? (flags.port === undefined ? doors[0] : undefined);
  if (!door) throw new ExcursorError("no_gateway", [urlOf(values.host, values.port)]);
  if (!wanted && doors.length > 1) throw new ExcursorError("many_gateways", [doors.map(({ port }) => port).join(", ")]);
  return {
    url: urlOf(values.host, door.port),
    key: values.key ?? keyOf(home),
    door: { address: door.address, isKeyGiven: values.key !== undefined },
  };
}

/** The same, or undefined if none runs. */
export async function runningGateway(flags: AddressFlags): Promise<GatewayAddress | undefined> {
  try {
    return await findGateway(flags);
  } catch (error) {
    if (ExcursorError.from(error).code === "no_gateway") return undefined;
    throw error;
  }
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
