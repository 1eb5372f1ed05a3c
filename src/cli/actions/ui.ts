import { ExcursorError } from "../../core/errors.ts";
import { jsonText } from "../../core/printable.ts";
import { type AddressFlags, findGateway } from "../gateway-address.ts";
import { createClient } from "../gateway-client.ts";
import { openBrowser } from "../open-browser.ts";
import { proveAddress } from "../proven-gateway.ts";

interface UiFlags extends AddressFlags {
  readonly open: boolean;
  readonly json: boolean;
}

interface Link {
  readonly path: string;
  readonly expiresInMs: number;
}

/** An answer must not lead the browser to another host. */
const LINK = /^\/ui\/link\/[\w-]+$/;
const TIMEOUT_MS = 10_000;

/** Creates a one-time link at the running gateway, prints it, and opens it. */
export async function runUi({ open, json, ...flags }: UiFlags): Promise<void> {
  const address = await findGateway(flags).catch(explain);
  await proveAddress(address, false);
  const request = { body: {}, signal: AbortSignal.timeout(TIMEOUT_MS) };
  const response = await createClient(address).call("/ui/links", request).catch(explain);
  const { path, expiresInMs } = (await response.json()) as Link;
  if (!LINK.test(path)) throw new ExcursorError("upstream-protocol", "The gateway's answer has no link.");
  const url = address.url + path;
  if (json) {
    process.stdout.write(`${jsonText({ url, expiresInMs })}\n`);
    return;
  }
  const isOpened = open && openBrowser(url);
  process.stderr.write(
    isOpened
      ? "The dashboard opens in your browser. If it does not, open this link:\n"
      : `Open this link within ${expiresInMs / 1000} seconds. It works once:\n`,
  );
  process.stdout.write(`${url}\n`);
}

/** The dashboard shows a gateway that runs, so there is no demo to start instead. */
function explain(error: unknown): never {
  if (!(error instanceof ExcursorError) || error.code !== "no_gateway") throw error;
  throw error.with({ hint: "Start one with `excursor serve`." });
}
