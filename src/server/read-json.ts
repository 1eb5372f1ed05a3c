import type { IncomingMessage, ServerResponse } from "node:http";
import type { Limits } from "../config/settings.ts";
import { ExcursorError } from "../core/errors.ts";
import { isDeeperThan } from "../core/json-depth.ts";

/** The body of a request as JSON. Its size and depth are checked before they can cost anything. */
export async function readJson(request: IncomingMessage, response: ServerResponse, limits: Limits): Promise<unknown> {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > limits.bodyBytes) throw tooLarge(limits);
  // The client has waited for our leave, and gets it only now that the gate let it pass.
  if (/^100-continue$/i.test(request.headers.expect ?? "")) response.writeContinue();
  const body = await readBody(request, limits);
  if (isDeeperThan(body, limits.jsonDepth)) {
    throw new ExcursorError("invalid-request", `The body nests deeper than ${limits.jsonDepth} levels.`, {
      code: "json_too_deep",
    });
  }
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (error) {
    const position = /position \d+/.exec((error as Error).message)?.[0];
    // The parser's own message quotes the body, which is the user's and not for logs.
    throw new ExcursorError("invalid-request", `The body is not valid JSON${position ? ` (at ${position})` : ""}.`, {
      code: "invalid_json",
    });
  }
}

function readBody(request: IncomingMessage, limits: Limits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (act: () => void) => {
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      act();
    };
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limits.bodyBytes) settle(() => reject(tooLarge(limits)));
    };
    const onEnd = () => settle(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    const onClose = () => settle(() => reject(new ExcursorError("canceled", "The client went away.")));
    request.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

const tooLarge = ({ bodyBytes }: Limits): ExcursorError =>
  new ExcursorError("too-large", `The body is larger than ${bodyBytes} bytes.`, { code: "body_too_large" });
