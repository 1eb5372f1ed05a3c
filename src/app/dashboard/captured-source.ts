import { readCapture, type StoredRecord, scanCapture } from "../../capture/capture-reader.ts";
import { CallList, type CallSummary } from "../../capture/view/call-list.ts";
import { viewMessage } from "../../capture/view/message-view.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { CapturedSource } from "../../dashboard/calls/captured.ts";
import type { CapturedCall, CapturedMessage } from "../../dashboard/captured-messages.ts";
import type { Capture } from "../capture/open-capture.ts";

const MAX_CALLS = 300;
/** Texts of a message that is too large are cut to these lengths, one after the other. */
const CUTS = [100_000, 10_000, 1000, 100];

/** Reads the capture of the running gateway for its dashboard. The file is read anew each time, in constant memory. */
export function capturedSource(capture: Capture | undefined): CapturedSource | undefined {
  if (!capture) return undefined;
  const { file } = capture;
  return {
    async listCalls({ requests, upstream }) {
      const list = new CallList();
      await scanCapture(file, (stored) => list.add(stored), { wantsMessage: (call) => list.countMessage(call) });
      const found = list
        .wanted()
        .filter(({ requestId = "", conversation = "" }) => requests.has(requestId) || upstream.has(conversation));
      return { file, calls: found.slice(-MAX_CALLS).map(rowOf), isCut: found.length > MAX_CALLS };
    },
    async readMessages(call, from, maxBytes) {
      const head = await findHead(file, call);
      const messages: CapturedMessage[] = [];
      let bytes = 0;
      for await (const stored of readCapture(file, from)) {
        if (stored.call !== call || stored.type !== "message") continue;
        const message = viewOf(stored, head, maxBytes);
        if (!message) continue;
        bytes += Buffer.byteLength(JSON.stringify(message));
        if (bytes > maxBytes && messages.length > 0) return { messages, next: stored.offset };
        messages.push(message);
      }
      return { messages, next: null };
    },
  };
}

const rowOf = (summary: CallSummary): CapturedCall => ({
  call: summary.call,
  at: summary.at,
  wire: summary.wire,
  requestId: summary.requestId ?? null,
  method: summary.method,
  path: summary.path,
  status: summary.status ?? null,
  durationMs: summary.ms ?? null,
  outcome: summary.outcome ?? null,
  messages: summary.messages,
});

interface CallPlace {
  readonly at: number;
  readonly path: string;
}

async function findHead(file: string, call: number): Promise<CallPlace> {
  for await (const stored of readCapture(file)) {
    const record = stored.call === call && stored.type === "call" ? stored.read() : undefined;
    if (record?.type === "call") return { at: record.at, path: record.head.path };
  }
  throw new ExcursorError("not-found", `The capture has no call ${call}.`);
}

function viewOf(stored: StoredRecord, { at, path }: CallPlace, maxBytes: number): CapturedMessage | undefined {
  const record = stored.read();
  if (record?.type !== "message") return undefined;
  const { kind, value, unknown = null } = viewMessage(record, path);
  const whole = { ms: record.at - at, direction: record.direction, kind, bytes: record.bytes.length };
  for (const limit of [Number.POSITIVE_INFINITY, ...CUTS]) {
    const message = { ...whole, value: cutTexts(value, limit), unknown: cutTexts(unknown, limit) };
    if (Buffer.byteLength(JSON.stringify(message)) <= maxBytes)
      return { ...message, isCut: limit !== Number.POSITIVE_INFINITY };
  }
  return { ...whole, value: null, unknown: null, isCut: true };
}

/** Copies a JSON value with its long texts cut. */
function cutTexts(value: unknown, limit: number): unknown {
  if (limit === Number.POSITIVE_INFINITY) return value;
  return JSON.parse(JSON.stringify(value ?? null), (_, member: unknown) =>
    typeof member === "string" && member.length > limit
      ? `${member.slice(0, limit)}… (${member.length - limit} more characters)`
      : member,
  );
}
