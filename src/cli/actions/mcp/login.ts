import { createInterface } from "node:readline";
import { styleText } from "node:util";
import { openServerLogins } from "../../../app/hub/open-server-logins.ts";
import { loadConfig } from "../../../app/load-config.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { jsonText, printable } from "../../../core/printable.ts";
import { unknownServer } from "../../../mcp/servers/edit-servers.ts";
import type { HttpServer } from "../../../mcp/servers/server-config.ts";
import { findServers } from "../../../mcp/servers/server-files.ts";
import { checkSignIn, signInToServer } from "../../../mcp/sign-in.ts";
import { openBrowser } from "../../open-browser.ts";
import { serverPlaces } from "../../open-hub.ts";
import { startSpinner } from "../../terminal/spinner.ts";
import { signOutOfServer } from "./sign-out-of-server.ts";

interface McpLoginFlags {
  readonly browser: boolean;
  readonly json: boolean;
}

/** Signs in to a server, checks that it accepts us, and stores the login. Ctrl-C changes nothing. */
export async function runMcpLogin(name: string, { browser, json }: McpLoginFlags): Promise<void> {
  const server = serverToSignInTo(name);
  const { home, values } = loadConfig({ flags: {}, environment: process.env });
  const notices: string[] = [];
  const logins = openServerLogins(home, values, (text) => notices.push(text));
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  const pasted = process.stdin.isTTY ? createInterface({ input: process.stdin }) : undefined;
  // With a reader attached, the terminal reports Ctrl-C to it instead of the process.
  pasted?.on("SIGINT", () => interrupt.abort());
  const spinner = startSpinner();
  try {
    const tools = await signInToServer(server, {
      logins,
      environment: process.env,
      show: (page, offer) => {
        showPage(page, { browser, json });
        pasted?.on("line", (line) => void offer(line.trim()));
      },
      signal: interrupt.signal,
    });
    spinner.stop();
    for (const notice of notices) process.stderr.write(`${printable(notice)}\n`);
    process.stdout.write(json ? `${jsonText({ name, tools })}\n` : `Signed in to ${name}: ${tools} tools.\n`);
  } catch (error) {
    if (interrupt.signal.aborted)
      throw new ExcursorError("canceled", "The sign-in was cancelled. Nothing was changed.");
    throw error;
  } finally {
    spinner.stop();
    pasted?.close();
  }
}

function serverToSignInTo(name: string): HttpServer {
  const { servers } = findServers(serverPlaces());
  const server = servers.find((candidate) => candidate.name === name);
  if (server) return checkSignIn(server);
  throw unknownServer(
    name,
    servers.map((known) => known.name),
  );
}

function showPage(page: URL, { browser, json }: McpLoginFlags): void {
  const { href } = page;
  if (json) process.stdout.write(`${jsonText({ url: href })}\n`);
  const isOpened = browser && openBrowser(href);
  const address = styleText("bold", href, { stream: process.stderr });
  process.stderr.write(
    isOpened
      ? `Your browser opens for the sign-in. If it does not, open this URL:\n\n  ${address}\n\n`
      : `Open this URL in a browser:\n\n  ${address}\n\n`,
  );
  const elsewhere =
    "If the browser is on another machine, it cannot open the last page. Paste the URL of that page here.\n";
  process.stderr.write(`${process.stdin.isTTY ? elsewhere : ""}Waiting for the sign-in. Ctrl-C cancels.\n`);
}

/** Removes a sign-in, and revokes it at the server. */
export async function runMcpLogout(name: string): Promise<void> {
  const { home, values } = loadConfig({ flags: {}, environment: process.env });
  const logins = openServerLogins(home, values, (text) => process.stderr.write(`${printable(text)}\n`));
  const outcome = await signOutOfServer(logins, name);
  if (outcome === "none") {
    throw new ExcursorError("mcp_not_signed_in", [name], { hint: null });
  }
  process.stdout.write(`Signed out of ${name}.\n`);
  if (outcome === "kept by the server") {
    process.stderr.write("The tokens could not be revoked at the server. They stay valid there until they expire.\n");
  }
}
