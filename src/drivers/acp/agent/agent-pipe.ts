import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { isDeeperThan } from "../../../core/json/json-depth.ts";
import { LineSplitter } from "../../../process/line-splitter.ts";

type NotificationListener = (method: string, params: unknown) => void;

/** Messages that may be queued before reading from the agent pauses. */
const WAITING_MESSAGES = 64;

/**
 * An agent's stdin and stdout as messages, one per line. Unlike the SDK's stream it ignores lines that are no messages,
 * such as logs, and supports back-pressure. Notifications bypass the SDK, which would log unknown ones and delay the
 * others.
 */
export class AgentPipe {
  readonly stream: Stream;
  /** Lines on stdout that were no messages. */
  garbageLines = 0;
  readonly #stdout: ChildProcessWithoutNullStreams["stdout"];
  readonly #onNotification: NotificationListener;
  #holds = 0;
  #isFull = false;

  constructor(
    { stdin, stdout }: ChildProcessWithoutNullStreams,
    maxBytes: number,
    onNotification: NotificationListener,
  ) {
    this.#stdout = stdout;
    this.#onNotification = onNotification;
    this.stream = { readable: this.#readable(new LineSplitter(maxBytes)), writable: writableOf(stdin) };
  }

  /** Pauses reading. Each call needs its own {@link release}. */
  hold(): void {
    this.#holds++;
    this.#flow();
  }

  release(): void {
    this.#holds--;
    this.#flow();
  }

  #flow(): void {
    if (this.#holds > 0 || this.#isFull) this.#stdout.pause();
    else this.#stdout.resume();
  }

  #readable(splitter: LineSplitter): ReadableStream<AnyMessage> {
    const stdout = this.#stdout;
    let isOver = false;
    return new ReadableStream<AnyMessage>(
      {
        start: (controller) => {
          stdout.on("data", (chunk: Buffer) => {
            if (isOver) return;
            try {
              splitter.push(chunk, (line) => {
                const message = readMessage(line);
                if (!message) this.garbageLines += line.trim() === "" ? 0 : 1;
                else if ("id" in message) controller.enqueue(message);
                else this.#onNotification(message.method, message.params);
              });
            } catch (error) {
              isOver = true;
              controller.error(error);
            }
            this.#isFull = !isOver && (controller.desiredSize ?? 0) <= 0;
            this.#flow();
          });
          stdout.once("close", () => {
            if (!isOver) controller.close();
            isOver = true;
          });
        },
        pull: () => {
          this.#isFull = false;
          this.#flow();
        },
        cancel: () => {
          isOver = true;
        },
      },
      { highWaterMark: WAITING_MESSAGES },
    );
  }
}

function writableOf(stdin: ChildProcessWithoutNullStreams["stdin"]): WritableStream<AnyMessage> {
  return new WritableStream<AnyMessage>({
    write: (message) =>
      new Promise((resolve) => {
        if (!stdin.writable || stdin.write(`${JSON.stringify(message)}\n`)) resolve();
        // A stream that ends does not drain.
        else stdin.once("drain", resolve).once("close", resolve);
      }),
  });
}

/** Far more than any message needs. `JSON.stringify` overflows the stack at a few thousand levels. */
const MAX_DEPTH = 256;

class MessageTooDeep extends Error {
  constructor() {
    super(`A message is nested more than ${MAX_DEPTH} levels deep.`);
  }
}

function readMessage(line: string): AnyMessage | undefined {
  if (isDeeperThan(Buffer.from(line), MAX_DEPTH)) throw new MessageTooDeep();
  try {
    const message = JSON.parse(line) as { jsonrpc?: unknown } | null;
    return message?.jsonrpc === "2.0" ? (message as AnyMessage) : undefined;
  } catch {
    return undefined;
  }
}
