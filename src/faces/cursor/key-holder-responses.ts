import { hash } from "node:crypto";
import {
  create,
  type DescMessage,
  fromBinary,
  fromJsonString,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { ExcursorError } from "../../core/errors.ts";
import type { Principal } from "../../core/turn.ts";
import { Http2Config } from "../../gen/aiserver/v1/server_config_pb.ts";
import { findStartCall, type StartCall, type StartCaller } from "../../wire/agent/start-calls.ts";
import type { UnknownCalls } from "../../wire/agent/unknown-calls.ts";
import { respondEmpty } from "../../wire/connect/empty-response.ts";
import type { ServerExchange } from "../../wire/http/server-exchange.ts";
import { nameOf } from "./conversation-names.ts";
import { needsAccount } from "./decide-run.ts";
import type { FaceTokens } from "./face-tokens.ts";
import { isFramed, wantsJson } from "./models.ts";

const MAX_BODY_BYTES = 1024 * 1024;

export interface KeyHolder {
  readonly principal: Principal;
  readonly tokens: FaceTokens;
  readonly defaultModel: () => Promise<string>;
}

/**
 * Answers a call of a holder of a gateway key, who has no Cursor account: nothing reaches Cursor. Throws if the call needs an
 * account.
 */
export async function answerKeyHolder(
  exchange: ServerExchange,
  holder: KeyHolder,
  unknownCalls: UnknownCalls,
): Promise<void> {
  const answer = findStartCall(exchange.method, exchange.path)?.answer;
  if (answer?.type === "empty") return respondEmpty(exchange, answer.json);
  if (answer && !isFramed(exchange)) return respondMessage(exchange, answer, holder);
  if (answer || (await unknownCalls.answer(exchange)) !== "answered") throw needsAccount(`The call ${exchange.path}`);
}

async function respondMessage(
  exchange: ServerExchange,
  { method, make }: Extract<StartCall["answer"], { type: "message" }>,
  holder: KeyHolder,
): Promise<void> {
  const isJson = wantsJson(exchange);
  const body = await exchange.readBody(MAX_BODY_BYTES);
  const input = decode(method.input, body, isJson) as never;
  const message = create(method.output, await make(startCallerOf(holder), input));
  if (isJson) exchange.respondJson(200, toJson(method.output, message));
  else exchange.respond(200, toBinary(method.output, message), { "content-type": "application/proto" });
}

function decode(schema: DescMessage, body: Buffer, isJson: boolean): Message {
  try {
    if (!isJson) return fromBinary(schema, body);
    return fromJsonString(schema, body.toString("utf8") || "{}", { ignoreUnknownFields: true });
  } catch (cause) {
    throw new ExcursorError("invalid-request", `The body is no ${schema.typeName}.`, { cause });
  }
}

/** Returns an account that exists nowhere but here, always the same for one principal. */
export function startCallerOf({ principal, tokens, defaultModel }: KeyHolder): StartCaller {
  const digest = hash("sha256", principal.id, "hex").slice(0, 12);
  return {
    authId: `excursor|${digest}`,
    userId: Number.parseInt(digest.slice(0, 7), 16) + 1,
    email: `key-${digest}@excursor.invalid`,
    pathKey: tokens.pathKeyOf(principal.id),
    http2Config: Http2Config.FORCE_BIDI_ENABLED,
    defaultModel,
    nameFor: nameOf,
  };
}
