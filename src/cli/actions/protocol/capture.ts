import { rmSync } from "node:fs";
import type { Capture } from "../../../app/capture/open-capture.ts";
import { loadConfig } from "../../../app/load-config.ts";
import { openGateway, type RunningGateway } from "../../../app/open-gateway.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { jsonText } from "../../../core/printable.ts";
import { clientVariables, runChild } from "../../child-program.ts";
import { nextSignal } from "../../shutdown.ts";
import { formatBytes } from "../../terminal/format-bytes.ts";

interface CaptureFlags {
  readonly out?: string | undefined;
  readonly maxSize?: number | undefined;
  readonly listen: boolean;
  readonly upstream?: string | undefined;
  readonly withKey: boolean;
  readonly json: boolean;
}

/** How long answers may continue after the program has ended. */
const GRACE_MS = 1000;

/** Starts a gateway that records, and a program that uses it. Returns the program's exit code. */
export async function runCapture(command: readonly string[], flags: CaptureFlags): Promise<number> {
  const [program, ...args] = command;
  if ((program === undefined) !== flags.listen) {
    throw new ExcursorError("config", "Give either a program to run, after --, or --listen.", {
      hint: "For example: excursor capture -- node my-agent.js",
    });
  }
  const signal = flags.listen ? nextSignal() : undefined;
  const gateway = await openGateway(loadConfig({ flags: settingsOf(flags), environment: process.env }), {
    isDemo: false,
    writeLog: (text) => process.stderr.write(text),
  });
  const { capture, url, cursorUrl = "", key } = gateway;
  if (!capture) throw new ExcursorError("internal", "The gateway has no capture.");
  let isKept = false;
  try {
    if (program !== undefined) {
      const code = await runChild(program, args, clientVariables({ url, cursorUrl, key, withKey: flags.withKey }));
      isKept = true;
      return code;
    }
    process.stdout.write(`cursor ${cursorUrl}\ngateway ${url}\ncapture ${capture.file}\n`);
    await signal;
    isKept = true;
    return 0;
  } finally {
    await end(gateway, capture, isKept, flags.json);
  }
}

/** Its own listeners on free ports, so that it can run beside a gateway. */
const settingsOf = ({ out, maxSize, upstream }: CaptureFlags) => ({
  port: 0,
  host: "127.0.0.1",
  cursorFace: true,
  cursorPort: 0,
  ollama: false,
  bridge: false,
  logLevel: "warn",
  capture: out ?? true,
  upstream,
  "limits.captureBytes": maxSize === undefined ? undefined : maxSize * 1024 * 1024,
});

/** A program that could not be started leaves no capture. */
async function end(gateway: RunningGateway, capture: Capture, isKept: boolean, json: boolean): Promise<void> {
  await gateway.close(GRACE_MS);
  const { file, counts, bytes, endReason } = capture;
  if (!isKept) {
    rmSync(file, { force: true });
    return;
  }
  if (json) {
    process.stderr.write(`${jsonText({ file, bytes, ...counts, endReason })}\n`);
    return;
  }
  const { calls, messages, conversations } = counts;
  const facts = `${calls} calls, ${messages} messages, ${conversations} conversations, ${formatBytes(bytes)}`;
  const early = endReason === undefined ? "" : `It ended early: ${endReason}.\n`;
  const next = calls === 0 ? "No calls came through the gateway." : `Inspect it: excursor inspect ${file}`;
  process.stderr.write(`\nCaptured ${facts}: ${file}\n${early}${next}\n`);
}
