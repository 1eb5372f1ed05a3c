import { create, toBinary } from "@bufbuild/protobuf";
import type { ExcursorError } from "../core/errors.ts";
import { AgentClientMessageSchema } from "../gen/agent/v1/run_pb.ts";
import { CLIENT_HEARTBEAT, CLIENT_HEARTBEAT_MS } from "../wire/agent/heartbeat.ts";
import type { Blobs } from "../wire/agent/state/blobs.ts";
import { BidiRun } from "../wire/connect/bidi-run.ts";
import { parseEndOfStream } from "../wire/connect/end-of-stream.ts";
import type { RunListener, RunStream } from "../wire/connect/run-stream.ts";
import { openSseRun } from "../wire/connect/sse-run.ts";
import { fromFailedResponse } from "../wire/http/http-errors.ts";
import type { CassetteCall, CassetteMessage } from "./cassette.ts";
import type { IdMap } from "./id-map.ts";
import { meaningOf } from "./meaning.ts";
import { isReply, RecordedReplies } from "./recorded-replies.ts";
import type { ReplayTarget } from "./replay-target.ts";
import { type Step, Steps } from "./steps.ts";

const RUN = "/agent.v1.AgentService/Run";
const HEARTBEAT = toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message: CLIENT_HEARTBEAT }));
const HEARTBEAT_KIND = "client_heartbeat";
/** With `isPaced`, no recorded pause is kept longer than this. */
const MAX_PAUSE_MS = 60_000;

/** Something that the recorded client said by itself, and how much it had heard before. */
interface Due {
  readonly message: CassetteMessage;
  readonly afterSteps: number;
  readonly pauseMs: number;
}

/** Returns what the recorded backend said in a stream. */
export function recordedSteps({ head, messages, response, outcome }: CassetteCall): readonly Step[] {
  const steps = new Steps(head.origin);
  for (const message of messages) {
    if (message.direction === "sent") continue;
    if (message.isEnd) steps.add(endOf(parseEndOfStream(message.bytes).error));
    else if (message.form === "frame") steps.add(message.meaning);
    else if (response) steps.add(endOf(fromFailedResponse(response, message.bytes)));
  }
  if (!isCut({ messages, outcome }) && steps.all.at(-1)?.kind !== "end") steps.add({ kind: "end", texts: ["cut"] });
  return steps.all;
}

/** True if the recording does not hold the end of the answer: the client closed the stream, or the capture ends. */
export const isCut = ({ messages, outcome }: Pick<CassetteCall, "messages" | "outcome">): boolean =>
  (outcome === undefined || outcome === "aborted") &&
  !messages.some(({ direction, isEnd }) => direction === "received" && isEnd);

const endOf = (error: ExcursorError | undefined) => ({
  kind: "end",
  texts: [error === undefined ? "ok" : String(error.context["connectCode"] ?? error.code)],
});

/** Says what the recorded client said, and returns what the backend answered. */
export function replayStream(
  call: CassetteCall,
  target: ReplayTarget,
  blobs: Blobs,
  ids: IdMap,
): Promise<readonly Step[]> {
  const isRun = call.path === RUN;
  const wanted = recordedSteps(call);
  const mayEndEarly = isCut(call);
  const steps = new Steps(target.origin);
  const replies = isRun ? new RecordedReplies(call, blobs, ids) : undefined;
  const due = dueMessages(call);
  const timers = new Set<NodeJS.Timeout>();
  return new Promise((resolve) => {
    let stream: RunStream | undefined;
    let sending: NodeJS.Timeout | undefined;
    let isOver = false;
    const after = (ms: number, act: () => void): NodeJS.Timeout => {
      const timer = setTimeout(() => timers.delete(timer) && act(), ms);
      timers.add(timer);
      return timer;
    };
    const end = (last?: ReturnType<typeof endOf>): void => {
      if (isOver) return;
      isOver = true;
      for (const timer of timers) clearTimeout(timer);
      if (last) steps.add(last);
      resolve(steps.all);
      if (last?.texts[0] === "ok") stream?.closeSend();
      else stream?.cancel();
    };
    const silence = after(target.timeoutMs, () => end({ kind: "end", texts: ["silence"] }));
    const say = (payload: Uint8Array) => stream?.send(payload);
    const sendDue = (): void => {
      const [next] = due;
      if (isOver || sending || !next || steps.length < next.afterSteps) return;
      due.shift();
      const send = () => {
        sending = undefined;
        say(ids.apply(next.message.bytes));
        sendDue();
      };
      if (target.isPaced && next.pauseMs > 0) sending = after(next.pauseMs, send);
      else send();
    };
    const listener: RunListener = {
      message(bytes) {
        if (isOver) return;
        const meaning = meaningOf(call.method?.output, bytes);
        steps.add(meaning);
        if (!/heartbeat$/.test(meaning.kind)) silence.refresh();
        const answers = replies?.to(bytes, meaning) ?? (replies ? undefined : []);
        if (!answers) end();
        for (const answer of answers ?? []) say(answer);
        const heard = steps.all.at(-1)?.text.length ?? 0;
        const isEnough = steps.length === wanted.length && heard >= (wanted.at(-1)?.text.length ?? 0);
        if (mayEndEarly && due.length === 0 && (isEnough || steps.length > wanted.length)) end();
        else sendDue();
      },
      done: (error) => end(endOf(error)),
    };
    stream = openStream(call, target, ids, listener);
    if (isRun) {
      const beat = after(CLIENT_HEARTBEAT_MS, () => {
        say(HEARTBEAT);
        timers.add(beat);
        beat.refresh();
      });
    }
    sendDue();
    if (call.method?.methodKind !== "bidi_streaming") stream.closeSend();
  });
}

function openStream(call: CassetteCall, target: ReplayTarget, ids: IdMap, listener: RunListener): RunStream {
  const { origin, transports } = target;
  const headers = target.headersFor(call.head, ids);
  const { path } = call;
  if (call.head.transport === "h2" || path !== RUN) {
    const isBidi = call.method?.methodKind === "bidi_streaming";
    const transport = transports[isBidi ? "h2" : call.head.transport];
    return new BidiRun({ transport, origin, path, headers, listener });
  }
  const requestId = headers["x-request-id"] ?? "";
  const { "content-length": _, ...own } = headers;
  const appendHeaders = { ...own, "content-type": "application/proto" };
  return openSseRun({ transport: transports.h1, origin, requestId, headers: own, appendHeaders, listener });
}

/** Replies are not among them: they are sent when the backend asks. */
function dueMessages(call: CassetteCall): Due[] {
  const heard = new Steps(call.head.origin);
  const due: Due[] = [];
  let lastAt: number | undefined;
  for (const message of call.messages) {
    const pauseMs = Math.min(Math.max(0, message.at - (lastAt ?? message.at)), MAX_PAUSE_MS);
    if (message.direction === "received") heard.add(message.meaning);
    else if (message.meaning.kind !== HEARTBEAT_KIND && !isReply(message))
      due.push({ message, afterSteps: heard.length, pauseMs });
    lastAt = message.at;
  }
  return due;
}
