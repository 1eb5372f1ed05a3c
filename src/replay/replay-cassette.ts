import { randomUUID } from "node:crypto";
import { type DescMethod, fromBinary } from "@bufbuild/protobuf";
import { ExcursorError } from "../core/errors.ts";
import { AgentClientMessageSchema } from "../gen/agent/v1/run_pb.ts";
import { callHttp } from "../wire/http/http-call.ts";
import { mediaType } from "../wire/http/http-errors.ts";
import { wireLimits } from "../wire/limits.ts";
import { type Cassette, type CassetteCall, isStream } from "./cassette.ts";
import { IdMap } from "./id-map.ts";
import { meaningOf, UUID } from "./meaning.ts";
import { blobsOf } from "./recorded-replies.ts";
import { isCut, recordedSteps, replayStream } from "./replay-stream.ts";
import { isAllowedCall, otherHeaders, type ReplayTarget } from "./replay-target.ts";
import { firstDifference, type Step, type StepDifference, Steps } from "./steps.ts";

/** The result of one recorded call. */
export interface CallReplay {
  /** Counts from 1, in the order of the recording. */
  readonly call: number;
  readonly method: string;
  readonly path: string;
  readonly ms: number;
  readonly result: "same" | "different" | "skipped";
  /** Why it was not sent. */
  readonly reason?: string;
  readonly difference?: StepDifference;
}

const CONNECT_PATH = /^\/[\w.]+\.v\d+\.\w+\/\w+$/;

/** Sends the calls of a recorded client to a backend, one after another, and compares what comes. */
export async function* replayCassette(cassette: Cassette, target: ReplayTarget): AsyncGenerator<CallReplay> {
  const ids = new IdMap();
  const blobs = blobsOf(cassette, ids);
  // A backend may know the recorded ids, and take a new run for a repeated one.
  for (const id of runIds(cassette)) ids.addUuid(id, randomUUID());
  for (const [index, call] of cassette.calls.entries()) {
    const place = { call: index + 1, method: call.head.method, path: call.path };
    const reason = reasonToSkip(call) ?? (target.sendsAll || isAllowed(call) ? undefined : NOT_ALLOWED);
    if (reason !== undefined) {
      yield { ...place, ms: 0, result: "skipped", reason };
      continue;
    }
    const startedAt = performance.now();
    const difference = isStream(call.head)
      ? firstDifference(recordedSteps(call), await replayStream(call, target, blobs, ids), isCut(call))
      : firstDifference(recordedAnswer(call), await replayUnary(call, target, ids), false);
    const ms = performance.now() - startedAt;
    yield difference ? { ...place, ms, result: "different", difference } : { ...place, ms, result: "same" };
  }
}

const NOT_ALLOWED = "it is neither a run nor a known read: --all sends it";

const isAllowed = ({ head, path }: CassetteCall): boolean => isAllowedCall(head, path);

/** What is sent only if all is: calls, and headers of the calls. */
export const othersOf = ({ calls }: Cassette): readonly string[] => [
  ...new Set(
    calls
      .filter((call) => reasonToSkip(call) === undefined)
      .flatMap((call) => [
        ...(isAllowed(call) ? [] : [`${call.head.method} ${call.path}`]),
        ...otherHeaders(call.head).map((name) => `header ${name}`),
      ]),
  ),
];

function runIds({ calls }: Cassette): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { direction, bytes, meaning } of calls.flatMap(({ messages }) => messages)) {
    if (direction !== "sent" || meaning.kind !== "run_request") continue;
    const { message } = fromBinary(AgentClientMessageSchema, bytes);
    const { conversationId = "", runId = "" } = message.case === "runRequest" ? message.value : {};
    for (const id of [conversationId, runId]) if (isUuid(id)) ids.add(id);
  }
  return ids;
}

const isUuid = (text: string): boolean => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);

function reasonToSkip(call: CassetteCall): string | undefined {
  const { path, response, outcome } = call;
  if (!CONNECT_PATH.test(path)) return "it is no call of Cursor's protocol";
  if (path.startsWith("/aiserver.v1.AnalyticsService/")) return "statistics are not sent twice";
  if (isStream(call.head) && call.method === undefined) return "our schema does not have its method";
  return response === undefined && outcome !== "aborted" ? "the capture has no answer to it" : undefined;
}

function recordedAnswer({ head, response, messages, method }: CassetteCall): readonly Step[] {
  const body = messages.find(({ direction }) => direction === "received")?.bytes ?? new Uint8Array();
  return answerSteps(head.origin, response?.status ?? 0, response?.headers["content-type"], method, body);
}

async function replayUnary(call: CassetteCall, target: ReplayTarget, ids: IdMap): Promise<readonly Step[]> {
  const { head, method } = call;
  const sent = call.messages.find(({ direction }) => direction === "sent");
  const query = head.path.slice(call.path.length);
  const request = {
    origin: target.origin,
    path: `${call.path}${query}`,
    method: head.method,
    headers: target.headersFor(head, ids),
  };
  try {
    const { head: answer, body } = await callHttp({
      transport: target.transports[head.transport],
      request,
      body: sent && ids.apply(sent.bytes),
      limits: wireLimits(),
      timeoutMs: target.timeoutMs,
    });
    return answerSteps(target.origin, answer.status, answer.headers["content-type"], method, body);
  } catch (error) {
    return [{ kind: "failure", text: ExcursorError.from(error).message }];
  }
}

function answerSteps(
  origin: string,
  status: number,
  type: string | undefined,
  method: DescMethod | undefined,
  body: Uint8Array,
): readonly Step[] {
  const steps = new Steps(origin);
  steps.add({ kind: "status", texts: [`HTTP ${status}`] });
  if (status === 200 && mediaType(type) === "application/proto") steps.add(meaningOf(method?.output, body));
  else if (mediaType(type) === "application/json") steps.add({ kind: "json", texts: jsonTexts(body) });
  return steps.all;
}

/** The strings of JSON, apart from ids. */
function jsonTexts(body: Uint8Array): readonly string[] {
  const texts: string[] = [];
  try {
    JSON.parse(Buffer.from(body).toString("utf8"), (name, value: unknown) => {
      if (typeof value === "string" && !/(?:^|_)ids?$|Ids?$/.test(name)) texts.push(value.replace(UUID, "<id>"));
      return value;
    });
  } catch {
    return ["unreadable"];
  }
  return texts;
}
