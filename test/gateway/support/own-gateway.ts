import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { loadConfig } from "../../../src/app/load-config.ts";
import { openGateway, type RunningGateway } from "../../../src/app/open-gateway.ts";
import { KEY } from "./gateway-process.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export interface OwnGateway {
  /** Of the one that runs now. */
  readonly url: string;
  /** Of its listener for Cursor's own clients, if it was asked for. */
  readonly cursorUrl: string | undefined;
  readonly log: () => string;
  /** Its home folder. */
  readonly home: string;
  /** Closes it and opens another one over the same state. */
  restart(): Promise<void>;
}

/** A gateway in this process with these settings, and without a Cursor account. */
export async function openOwnGateway(settings: object): Promise<OwnGateway> {
  const home = mkdtempSync(join(tmpdir(), "excursor-own-"));
  const file = { port: 0, key: KEY, upstream: "http://127.0.0.1:9", token: "tester", ...settings };
  writeFileSync(join(home, "config.json"), JSON.stringify(file), { mode: 0o600 });
  let log = "";
  const open = () =>
    openGateway(loadConfig({ flags: {}, environment: { EXCURSOR_HOME: home } }), {
      isDemo: false,
      writeLog: (text) => {
        log += text;
      },
    });
  let gateway: RunningGateway = await open();
  cleanups.push(async () => {
    await gateway.close(0);
    rmSync(home, { recursive: true, force: true });
  });
  return {
    get url() {
      return gateway.url;
    },
    get cursorUrl() {
      return gateway.cursorUrl;
    },
    log: () => log,
    home,
    async restart() {
      await gateway.close(0);
      gateway = await open();
    },
  };
}
