import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { CaptureTail, StoredRecord } from "../../../capture/capture-reader.ts";
import type { MaskedCapture } from "../../../capture/masked-capture.ts";
import type { CaptureRecord } from "../../../capture/records.ts";
import { CallList, type CallSummary, type CaptureFilter } from "../../../capture/view/call-list.ts";
import { describeTail } from "../../../capture/view/describe-tail.ts";
import { HarEntries } from "../../../capture/view/har.ts";
import { kindOf, type MessageView, viewMessage } from "../../../capture/view/message-view.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { jsonText, printable } from "../../../core/printable.ts";
import { fileError } from "../../../files/file-error.ts";
import { openMaskedCapture } from "../../open-masked-capture.ts";
import { formatBytes } from "../../terminal/format-bytes.ts";
import { formatTable } from "../../terminal/format-table.ts";
import { version } from "../../version.ts";

interface InspectFlags extends CaptureFilter {
  readonly messages: boolean;
  readonly follow: boolean;
  readonly json: boolean;
  readonly jsonl: boolean;
  readonly har?: string | undefined;
}

/** How often a capture that grows is read again. */
const FOLLOW_MS = 200;

export async function runInspect(file: string, flags: InspectFlags): Promise<void> {
  if (flags.follow) return follow(file, flags);
  const capture = openMaskedCapture(file);
  const list = await listCalls(capture, flags);
  if (flags.call !== undefined && list.wanted().length === 0) {
    throw new ExcursorError("not-found", `${file} has no call ${flags.call}, or the filters leave it out.`, {
      hint: "List the calls without --call.",
    });
  }
  const wanted = new Set(list.wanted().map(({ call }) => call));
  if (flags.har !== undefined || flags.jsonl || flags.call !== undefined)
    await capture.learn((call) => wanted.has(call));
  if (flags.har !== undefined) return exportHar(capture, flags.har, list);
  if (flags.jsonl) return printLines(capture, list);
  if (flags.call !== undefined) return printTimeline(capture, list, flags.call, flags);
  const calls = list.wanted();
  process.stdout.write(flags.json ? `${jsonText(calls, 2)}\n` : tableOf(calls, list.count));
}

/** Reads the capture once, for its calls. Says on stderr if it has no proper end. */
async function listCalls(capture: MaskedCapture, filter: CaptureFilter): Promise<CallList> {
  const list = new CallList(filter);
  const tail = await capture.scan((stored) => list.add(stored), {
    wantsMessage: (call, count) => list.countMessage(call, count),
  });
  for (const line of problemsOf(capture.file, tail, list)) process.stderr.write(`${line}\n`);
  return list;
}

function problemsOf(file: string, tail: CaptureTail, { damaged, endReason }: CallList): readonly string[] {
  return [
    ...(endReason === undefined ? [] : [`The capture ended early: ${endReason}.`]),
    ...[describeTail(file, tail)].flatMap((text) => text ?? []),
    ...(damaged > 0 ? [`${damaged} damaged records were left out.`] : []),
  ];
}

/** Calls `onMessage` for each message that the filter lets through. */
async function readMessages(
  capture: MaskedCapture,
  list: CallList,
  onMessage: (message: Extract<CaptureRecord, { type: "message" }>, call: CallSummary) => void,
): Promise<void> {
  const wanted = new Set(list.wanted().map(({ call }) => call));
  await capture.scan(
    (stored) => {
      if (stored.type !== "message") return;
      const record = stored.read();
      const call = list.of(stored.call);
      if (record?.type === "message" && call && list.isWanted(record, call.path)) onMessage(record, call);
    },
    { wantsMessage: (call) => wanted.has(call) },
  );
}

/** `count` is the number of calls in the capture. */
function tableOf(calls: readonly CallSummary[], count: number): string {
  if (calls.length === 0) return count === 0 ? "No calls.\n" : `None of its ${count} calls fits the filters.\n`;
  const rows = calls.map((call) => [
    String(call.call),
    clock(call.at),
    call.method,
    call.path.split("?", 1)[0] ?? "",
    String(call.status ?? "-"),
    call.ms === undefined ? "open" : `${Math.round(call.ms)} ms`,
    call.sentBytes === undefined ? "-" : formatBytes(call.sentBytes),
    call.receivedBytes === undefined ? "-" : formatBytes(call.receivedBytes),
    String(call.messages),
    call.wire,
    call.conversation ?? "",
  ]);
  return formatTable(
    ["CALL", "TIME", "METHOD", "PATH", "STATUS", "DURATION", "SENT", "RECEIVED", "MESSAGES", "WIRE", "CONVERSATION"],
    rows,
  );
}

const clock = (at: number): string => new Date(at).toISOString().slice(11, 23);

/** Prints the messages of a call, or of the run over HTTP/1.1 that it is a part of, by their times. */
async function printTimeline(capture: MaskedCapture, list: CallList, call: number, flags: InspectFlags): Promise<void> {
  const { json, messages } = flags;
  const calls = list.wanted();
  const shown = list.of(call) ?? calls[0];
  if (!shown) return;
  const start = Math.min(...calls.map(({ at }) => at));
  const rows: { readonly at: number; readonly cells: readonly string[]; readonly view?: MessageView }[] = [];
  await readMessages(capture, list, (message, { call: number, path }) => {
    const { at, direction, bytes } = message;
    const time = `+${Math.round(at - start)} ms`;
    const cells = [time, `#${number}`, direction, kindOf(message, path), formatBytes(bytes.length)];
    const view = json || messages ? viewMessage(message, path) : undefined;
    rows.push({ at, cells, ...(view && { view: { ...view, ...placeOf(message, start) } }) });
  });
  // Uploads are written by themselves.
  rows.sort((a, b) => a.at - b.at);
  if (json) {
    const views = rows.map(({ view }) => view);
    process.stdout.write(`${jsonText({ ...shown, messages: views }, 2)}\n`);
    return;
  }
  process.stdout.write(`${printable(`${shown.method} ${shown.origin}${shown.path}`)}\n`);
  for (const { call: number, omitted } of calls) {
    if (omitted !== undefined)
      process.stdout.write(printable(`The capture lacks a part of call ${number}: ${omitted}.\n`));
  }
  if (!messages) {
    const table = rows.map(({ cells }) => cells);
    process.stdout.write(formatTable(["TIME", "CALL", "DIRECTION", "KIND", "BYTES"], table));
    return;
  }
  for (const { cells, view } of rows) {
    const more = view?.unknown === undefined ? "" : `\nunknown fields: ${JSON.stringify(view.unknown, null, 2)}`;
    process.stdout.write(`${printable(`\n${cells.join("  ")}\n${JSON.stringify(view?.value, null, 2)}${more}`)}\n`);
  }
}

const placeOf = ({ at, call, direction, bytes }: Extract<CaptureRecord, { type: "message" }>, start: number) => ({
  ms: at - start,
  call,
  direction,
  bytes: bytes.length,
});

const lineOf = (message: Extract<CaptureRecord, { type: "message" }>, { path, conversation }: CallSummary): string =>
  jsonText({
    call: message.call,
    at: new Date(message.at).toISOString(),
    path,
    conversation,
    direction: message.direction,
    bytes: message.bytes.length,
    ...viewMessage(message, path),
  });

const printLines = (capture: MaskedCapture, list: CallList): Promise<void> =>
  readMessages(capture, list, (message, call) => process.stdout.write(`${lineOf(message, call)}\n`));

/** Prints messages as they come. Ends with the capture's own end, or with Ctrl-C. */
async function follow(file: string, flags: InspectFlags): Promise<void> {
  const capture = openMaskedCapture(file);
  const list = new CallList({ ...flags, direction: undefined, kind: undefined });
  const filter = new CallList(flags);
  const ended = new EndedCalls();
  let offset = 0;
  while (list.endReason === undefined) {
    const tail = await capture.scan(
      (stored) => {
        list.add(stored);
        const call = list.of(stored.call);
        if (!call || !list.isWantedCall(call)) return;
        if (flags.jsonl) ended.add(stored, call);
        else if (stored.type === "message") printFact(stored, call, filter);
      },
      { offset },
    );
    for (const { calls, from, end } of ended.take()) {
      const texts = openMaskedCapture(file);
      await texts.learn((call) => calls.has(call), { from, end });
      for await (const stored of texts.read(from)) {
        if (stored.offset >= end) break;
        const call = list.of(stored.call);
        if (!call || !calls.has(stored.call) || stored.type !== "message") continue;
        const message = stored.read();
        if (message?.type === "message" && filter.isWanted(message, call.path)) {
          process.stdout.write(`${lineOf(message, call)}\n`);
        }
      }
    }
    if (tail.type === "damaged") break;
    offset = tail.offset;
    await sleep(FOLLOW_MS);
  }
}

function printFact(stored: StoredRecord, call: CallSummary, filter: CallList): void {
  const message = stored.read();
  if (message?.type !== "message" || !filter.isWanted(message, call.path)) return;
  const { direction, bytes, at } = message;
  const facts = [clock(at), `#${call.call}`, direction, kindOf(message, call.path), formatBytes(bytes.length)];
  process.stdout.write(`${printable(facts.join("  "))}\n`);
}

/** Calls that are over, and where they are in the file. */
interface EndedCall {
  readonly calls: ReadonlySet<number>;
  readonly from: number;
  readonly end: number;
}

/** Gathers calls until their texts are complete: over HTTP/1.1 the uploads of a run, until its download ends. */
class EndedCalls {
  /** By the run, and by the call if there is none. */
  readonly #open = new Map<string, { readonly calls: Set<number>; readonly from: number; hasDownload: boolean }>();
  #ended: EndedCall[] = [];

  add({ type, offset }: StoredRecord, { call, path, run = `#${call}` }: CallSummary): void {
    const open = this.#open.get(run) ?? { calls: new Set<number>(), from: offset, hasDownload: false };
    const isUpload = path.endsWith("/BidiAppend");
    if (type === "call") {
      open.calls.add(call);
      open.hasDownload ||= !isUpload;
      this.#open.set(run, open);
    }
    if (type !== "end" || (isUpload && open.hasDownload)) return;
    this.#open.delete(run);
    this.#ended.push({ calls: open.calls, from: open.from, end: offset });
  }

  /** Returns each once. */
  take(): readonly EndedCall[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }
}

/** Never writes over a file: it may be the capture itself. */
async function createHar(target: string): Promise<WriteStream> {
  const out = createWriteStream(target, { flags: "wx", mode: 0o600 });
  try {
    await once(out, "open");
    return out;
  } catch (error) {
    throw fileError(error, `write the HAR file ${target}`, "file_unwritable");
  }
}

async function exportHar(capture: MaskedCapture, target: string, list: CallList): Promise<void> {
  const wanted = new Set(list.wanted().map(({ call }) => call));
  const entries = new HarEntries();
  const out = await createHar(target);
  const creator = JSON.stringify({ name: "excursor", version: version() });
  out.write(`{"log":{"version":"1.2","creator":${creator},"entries":[`);
  let count = 0;
  const write = (entry: object) => out.write(`${count++ === 0 ? "" : ","}\n${jsonText(entry)}`);
  for await (const stored of capture.read()) {
    if (!wanted.has(stored.call)) continue;
    const record = stored.read();
    const path = list.of(stored.call)?.path ?? "";
    if (!record || (record.type === "message" && !list.isWanted(record, path))) continue;
    const entry = entries.add(record);
    if (entry && !write(entry)) await once(out, "drain");
  }
  for (const entry of entries.rest()) write(entry);
  out.end("\n]}}\n");
  await once(out, "finish");
  process.stderr.write(`Wrote ${count} calls to ${target}.\n`);
}
