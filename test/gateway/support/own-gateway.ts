import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createGateway } from "../../../src/api/gateway.ts";
import { KEY } from "./gateway-process.ts";

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
  // Also of a gateway that does not start.
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  let log = "";
  const gateway = createGateway({
    home,
    key: KEY,
    environment: {},
    settings: { upstream: "http://127.0.0.1:9", token: "tester", ...settings },
    onLog: (text) => {
      log += text;
    },
  });
  await gateway.start();
  onTestFinished(() => gateway.stop(0));
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
      await gateway.stop(0);
      await gateway.start();
    },
  };
}
