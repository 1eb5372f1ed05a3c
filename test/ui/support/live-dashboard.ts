import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type OpenAI from "openai";
import type { Browser } from "playwright-core";
import { KEY, type Stage, setUpGateway } from "../../gateway/support/gateway-process.ts";
import { openPage, type Watched } from "./browser.ts";

export interface LiveDashboard {
  readonly url: string;
  readonly client: OpenAI;
  readonly stage: Stage;
  /** Returns the link that `excursor ui --no-open` prints. */
  link(): Promise<string>;
  /** Opens a browser of its own and signs in. */
  signIn(browser: Browser, options?: { readonly colorScheme?: "light" | "dark" }): Promise<Watched>;
  stop(): Promise<unknown>;
  /** Starts another gateway at the same address. */
  restart(): Promise<void>;
}

type Defer = (cleanup: () => unknown) => void;

/** Starts a gateway as a process of its own, in front of a simulated backend. */
export async function startDashboard(on: Stage | Defer): Promise<LiveDashboard> {
  const stage = typeof on === "function" ? await setUpGateway({}, {}, on) : on;
  let gateway = await stage.start();
  const { url, client } = gateway;
  const link = async () => {
    const args = ["bin/excursor.js", "ui", "--no-open", "--url", url, "--key", KEY];
    const environment = { ...process.env, EXCURSOR_HOME: stage.home };
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: environment });
    return stdout.trim();
  };
  return {
    url,
    client,
    stage,
    link,
    async signIn(browser, options) {
      const watched = await openPage(browser, options);
      await watched.page.goto(await link());
      await watched.page.waitForSelector("main h1");
      return watched;
    },
    stop: () => gateway.stop(),
    async restart() {
      gateway = await stage.start("--port", new URL(url).port);
    },
  };
}
