import type { StoredRecord } from "../../capture/capture-reader.ts";
import { MaskedCapture } from "../../capture/masked-capture.ts";
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
  const open = () => new MaskedCapture(file, capture.createMasker());
  return {
    async listCalls({ requests, upstream }) {
      const found = (await readList(open()))
        .wanted()
        .filter(({ requestId = "", conversation = "" }) => requests.has(requestId) || upstream.has(conversation));
      const downloads = new Set(found.flatMap(({ run, path }) => (isUpload(path) ? [] : (run ?? []))));
      // Uploads are shown with their download.
      const calls = found.filter(({ run = "", path }) => !isUpload(path) || !downloads.has(run));
      return { file, calls: calls.slice(-MAX_CALLS).map(rowOf), isCut: calls.length > MAX_CALLS };
    },
    async readMessages(call, from, maxBytes) {
      const masked = open();
      const calls = new Map((await readList(masked, call)).wanted().map((summary) => [summary.call, summary]));
      if (calls.size === 0) throw new ExcursorError("not-found", `The capture has no call ${call}.`);
      await masked.learn((number) => calls.has(number));
      const start = Math.min(...[...calls.values()].map(({ at }) => at));
      const messages: CapturedMessage[] = [];
      let bytes = 0;
      for await (const stored of masked.read(from)) {
        const path = stored.type === "message" ? calls.get(stored.call)?.path : undefined;
        const message = path === undefined ? undefined : viewOf(stored, { at: start, path }, maxBytes);
        if (!message) continue;
        bytes += Buffer.byteLength(JSON.stringify(message));
        if (bytes > maxBytes && messages.length > 0) return { messages, next: stored.offset };
        messages.push(message);
      }
      return { messages, next: null };
    },
  };
}

const isUpload = (path: string): boolean => path.endsWith("/BidiAppend");

/** Lists the calls of a capture, or one of them with the other calls of its run. */
async function readList(capture: MaskedCapture, call?: number): Promise<CallList> {
  const list = new CallList({ call });
  await capture.scan((stored) => list.add(stored), { wantsMessage: (of, count) => list.countMessage(of, count) });
  return list;
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
