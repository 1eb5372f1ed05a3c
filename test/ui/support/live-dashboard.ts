import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type OpenAI from "openai";
import type { Browser } from "playwright-core";
import { KEY, type Stage, setUpGateway } from "../../gateway/support/gateway-process.ts";
import { openPage, type Watched } from "./browser.ts";

export interface LiveDashboard {
  readonly url: string;
  /** Of the listener for Cursor's own clients, if it was asked for. */
  readonly cursorUrl: string | undefined;
  readonly client: OpenAI;
  readonly stage: Stage;
  /** Returns the link that `excursor ui --no-open` prints. */
  link(): Promise<string>;
  /** Opens a browser of its own and signs in. */
  signIn(browser: Browser, options?: { readonly colorScheme?: "light" | "dark" }): Promise<Watched>;
  stop(signal?: NodeJS.Signals): Promise<unknown>;
  /** Starts another gateway at the same address. */
  restart(): Promise<void>;
}

type Defer = (cleanup: () => unknown) => void;

interface DashboardOptions {
  /** Variables of the gateway. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Files in the gateway's home, as JSON. */
  readonly files?: Readonly<Record<string, object>>;
}

/** Starts a gateway as a process of its own, in front of a simulated backend. */
export async function startDashboard(
  on: Stage | Defer,
  { environment = {}, files = {} }: DashboardOptions = {},
): Promise<LiveDashboard> {
  const stage = typeof on === "function" ? await setUpGateway({}, environment, on) : on;
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(stage.home, name), JSON.stringify(content), { mode: 0o600 });
  }
  let gateway = await stage.start();
  const { url, cursorUrl, client } = gateway;
  const link = async () => {
    const args = ["bin/excursor.js", "ui", "--no-open", "--url", url, "--key", KEY];
    const env = { ...process.env, EXCURSOR_HOME: stage.home };
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    return stdout.trim();
  };
  return {
    url,
    cursorUrl,
    client,
    stage,
    link,
    async signIn(browser, options) {
      const watched = await openPage(browser, options);
      await watched.page.goto(await link());
      await watched.page.waitForSelector("main h1");
      return watched;
    },
    stop: (signal) => gateway.stop(signal),
    async restart() {
      gateway = await stage.start("--port", new URL(url).port);
    },
  };
}
