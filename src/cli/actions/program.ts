import { homeFolder } from "../../config/home.ts";
import { ExcursorError } from "../../core/errors.ts";
import { clientVariables, leadCommand, runChild } from "../child-program.ts";
import { findGateway } from "../gateway-address.ts";
import { proveAddress } from "../proven-gateway.ts";

export interface RunFlags {
  readonly url?: string | undefined;
  readonly cursorUrl?: string | undefined;
  readonly port?: number | undefined;
  readonly withKey: boolean;
}

/** Starts a program with the variables that lead its clients here, and ends as it does. */
export async function runProgram(command: string, args: readonly string[], flags: RunFlags): Promise<never> {
  const { url, port } = flags;
  const gateway = await findGateway({ url, port });
  const facts = await proveAddress(gateway, true);
  const cursorUrl = flags.cursorUrl?.replace(/\/$/, "") ?? facts?.cursorUrl;
  if (!cursorUrl) throw new ExcursorError("no_cursor_face", [gateway.url]);
  const env = clientVariables({ url: gateway.url, cursorUrl, key: gateway.key, withKey: flags.withKey });
  const led = leadCommand(command, args, cursorUrl, homeFolder(process.env));
  process.exit(await runChild(command, led.args, { ...env, ...led.variables }));
}
