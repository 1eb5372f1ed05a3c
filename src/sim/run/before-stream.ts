import { constants } from "node:http2";
import type { Account } from "../accounts.ts";
import type { Backend } from "../backend.ts";
import type { Exchange } from "../exchange.ts";
import { respondFailure } from "../rpc.ts";
import { parseScripts } from "../script/parse.ts";
import { failureOf } from "../script/play.ts";

/**
 * Does what must come before the response headers, `fail http=…` and `fault refused`, if that is what the prompt
 * asks for first. True if nothing is left to answer.
 */
export function endBeforeStream(prompt: string, exchange: Exchange, { tally }: Backend, account: Account): boolean {
  if (exchange.hasResponded) return false;
  const [script] = parseScripts(prompt);
  const index = script?.steps.findIndex(({ type }) => type !== "need" && type !== "usage") ?? -1;
  const step = script?.steps[index];
  if (!script || !step) return false;
  const isDue = (times: number) => tally.take(account.id, script.source, index, times);
  if (step.type === "fail" && step.http !== undefined && isDue(step.times)) {
    respondFailure(exchange, failureOf(step, step.text));
    return true;
  }
  if (step.type === "fault" && step.fault === "refused" && isDue(step.times)) {
    exchange.reset(constants.NGHTTP2_REFUSED_STREAM);
    return true;
  }
  return false;
}
