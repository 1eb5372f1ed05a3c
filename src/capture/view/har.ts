import type { CallHead, CaptureRecord, ResponseInfo } from "../records.ts";
import type { MessageView } from "./message-view.ts";
import { viewMessage } from "./message-view.ts";

interface OpenCall {
  readonly head: CallHead;
  readonly at: number;
  response?: { readonly head: ResponseInfo; readonly at: number };
  conversation?: string;
  readonly messages: HarMessage[];
}

interface HarMessage extends MessageView {
  readonly direction: "sent" | "received";
  /** Milliseconds since the call began. */
  readonly time: number;
  readonly size: number;
}

/** Makes the entries of a HAR 1.2 file, one for each call, when the call ends. */
export class HarEntries {
  readonly #open = new Map<number, OpenCall>();

  /** Returns an entry if the record ends its call. */
  add(record: CaptureRecord): object | undefined {
    if (record.type === "call") {
      this.#open.set(record.call, { head: record.head, at: record.at, messages: [] });
      return undefined;
    }
    const open = this.#open.get(record.call);
    if (!open) return undefined;
    if (record.type === "response") open.response = record;
    else if (record.type === "message") {
      const { direction, bytes } = record;
      open.messages.push({
        direction,
        time: record.at - open.at,
        size: bytes.length,
        ...viewMessage(record, open.head.path),
      });
    } else if (record.type === "note" && record.note.type === "conversation") open.conversation = record.note.id;
    else if (record.type === "end") {
      this.#open.delete(record.call);
      return entryOf(open, record.at, record.end);
    }
    return undefined;
  }

  /** Returns entries for the calls that have no end in the capture. */
  rest(): readonly object[] {
    return [...this.#open.values()].map((open) => entryOf(open, open.response?.at ?? open.at));
  }
}

interface Sizes {
  readonly outcome: string;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** -1 is HAR's word for a number that is not known. */
function entryOf(open: OpenCall, endAt: number, end?: Sizes): object {
  const { head, at, response, messages } = open;
  const url = new URL(head.path, head.origin);
  const httpVersion = head.transport === "h2" ? "HTTP/2" : "HTTP/1.1";
  const wait = (response?.at ?? endAt) - at;
  return {
    startedDateTime: new Date(at).toISOString(),
    time: endAt - at,
    request: {
      method: head.method,
      url: url.href,
      httpVersion,
      cookies: [],
      headers: pairs(head.headers),
      queryString: [...url.searchParams].map(([name, value]) => ({ name, value })),
      headersSize: -1,
      bodySize: end?.sentBytes ?? -1,
    },
    response: {
      status: response?.head.status ?? 0,
      statusText: "",
      httpVersion,
      cookies: [],
      headers: pairs(response?.head.headers ?? {}),
      content: {
        size: end?.receivedBytes ?? 0,
        mimeType: response?.head.headers["content-type"] ?? "application/octet-stream",
      },
      redirectURL: "",
      headersSize: -1,
      bodySize: end?.receivedBytes ?? -1,
    },
    cache: {},
    timings: { send: 0, wait, receive: endAt - at - wait },
    _outcome: end?.outcome ?? "no end in the capture",
    ...(open.conversation !== undefined && { _conversation: open.conversation }),
    _connectMessages: messages,
  };
}

const pairs = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers).map(([name, value]) => ({ name, value }));
