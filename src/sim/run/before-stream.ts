import { constants } from "node:http2";
import type { Account } from "../accounts.ts";
import type { Backend } from "../backend.ts";
import type { FrameWriter } from "../frame-writer.ts";
import { respondFailure } from "../rpc.ts";
import { parseScripts } from "../script/parse.ts";
import { failureOf, hasNeeded } from "../script/play.ts";
import { defaultScript } from "./echo.ts";

/**
 * Handles `fail http=…`, `fault refused` and `fault sse-type`, if the script begins with one: they come before the stream. Returns true
 * if the response is complete. Over HTTP/1.1 the headers may already be sent; the failure then goes into the end frame.
 * `offers` knows only the tools in the request itself.
 */
export function endBeforeStream(
  prompt: string,
  out: FrameWriter,
  backend: Backend,
  account: Account,
  offers: (tool: string) => boolean,
): boolean {
  const { exchange } = out;
  const { tally, options } = backend;
  const script = parseScripts(prompt)[0] ?? defaultScript(options, 1);
  const index = script?.steps.findIndex(({ type }) => type !== "need" && type !== "usage") ?? -1;
  const step = script?.steps[index];
  if (!script || !step || !hasNeeded(script.steps, offers)) return false;
  const isDue = (times: number) => tally.take(account.id, script.source, index, times);
  if (step.type === "fail" && step.http !== undefined && isDue(step.times)) {
    const failure = failureOf(step, step.text);
    if (exchange.hasResponded) out.end(failure);
    else respondFailure(exchange, failure);
    return true;
  }
  if (step.type === "fault" && step.fault === "refused" && isDue(step.times)) {
    exchange.reset(constants.NGHTTP2_REFUSED_STREAM);
    return true;
  }
  if (step.type === "fault" && step.fault === "sse-type" && exchange.transport === "h1" && isDue(step.times)) {
    out.contentType = "text/event-stream";
    out.isCompressing = true;
  }
  return false;
}
