import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium, WORKBENCH_MODULES } from "../../../scripts/install-workbench.ts";

/** As much of Playwright as is used here. */
interface Page {
  on(event: "pageerror", listener: (error: Error) => void): void;
  route(url: RegExp, handler: (route: { fulfill(answer: object): Promise<void> }) => Promise<void>): Promise<void>;
  goto(url: string): Promise<unknown>;
  waitForSelector(selector: string, options: { timeout: number }): Promise<unknown>;
  waitForLoadState(state: "networkidle", options: { timeout: number }): Promise<void>;
  evaluate<T>(script: string): Promise<T>;
}
interface Browser {
  newContext(options: object): Promise<{ newPage(): Promise<Page>; close(): Promise<void> }>;
  close(): Promise<void>;
}
interface Playwright {
  readonly chromium: { launch(options: object): Promise<Browser> };
}

/** The workbench as VS Code's own build has made it. */
export const WORKBENCH = join(WORKBENCH_MODULES, "code-server/lib/vscode/out/vs/code/browser/workbench/workbench.js");

export interface BootReport<T> {
  readonly pageErrors: readonly string[];
  /** How often the browser asked for the bundle. */
  readonly served: number;
  readonly value: T;
}

/** A server of the workbench, and a browser to open it in. */
export class WorkbenchBrowser {
  readonly #server: ChildProcess;
  readonly #browser: Browser;
  readonly #url: string;
  readonly #folder: string;

  private constructor(server: ChildProcess, browser: Browser, url: string, folder: string) {
    this.#server = server;
    this.#browser = browser;
    this.#url = url;
    this.#folder = folder;
  }

  static async open(): Promise<WorkbenchBrowser> {
    const folder = mkdtempSync(join(tmpdir(), "excursor-workbench-"));
    const flags = ["--bind-addr", "127.0.0.1:0", "--auth", "none", "--disable-telemetry", "--disable-update-check"];
    const places = [
      "--user-data-dir",
      folder,
      "--extensions-dir",
      `${folder}/extensions`,
      "--config",
      `${folder}/x.yaml`,
    ];
    const entry = join(WORKBENCH_MODULES, "code-server/out/node/entry.js");
    const server = spawn(process.execPath, [entry, ...flags, "--disable-workspace-trust", ...places, folder], {
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, HOME: folder },
    });
    const url = await new Promise<string>((resolve, reject) => {
      let output = "";
      server.stdout?.on("data", (chunk) => {
        output += chunk;
        const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
        if (found) resolve(found);
      });
      server.on("exit", (code) => reject(new Error(`the server exited with ${code}: ${output}`)));
    });
    const { chromium } = createRequire(import.meta.url)(join(WORKBENCH_MODULES, "playwright-core")) as Playwright;
    const browser = await chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox"] });
    return new WorkbenchBrowser(server, browser, url, folder);
  }

  /** Boots the workbench with this file as its bundle, until its status bar is there, then runs a script in the page. */
  async boot<T>(bundle: string, script: string): Promise<BootReport<T>> {
    const context = await this.#browser.newContext({ serviceWorkers: "block" });
    try {
      const page = await context.newPage();
      const pageErrors: string[] = [];
      page.on("pageerror", (error) => pageErrors.push(String(error)));
      let served = 0;
      await page.route(/\/workbench\.js(\?.*)?$/, async (route) => {
        served++;
        await route.fulfill({ body: readFileSync(bundle), contentType: "text/javascript; charset=utf-8" });
      });
      await page.goto(this.#url);
      await page.waitForSelector(".monaco-workbench .part.statusbar .statusbar-item", { timeout: 120_000 });
      const value = await page.evaluate<T>(script);
      return { pageErrors, served, value };
    } finally {
      await context.close();
    }
  }

  async close(): Promise<void> {
    await this.#browser.close();
    this.#server.removeAllListeners("exit");
    this.#server.kill();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
