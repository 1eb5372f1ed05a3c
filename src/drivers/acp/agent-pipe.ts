import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { isDeeperThan } from "../../core/json/json-depth.ts";
import { LineSplitter } from "../../process/line-splitter.ts";

type NotificationListener = (method: string, params: unknown) => void;

/** Messages that may wait for the connection before the agent is held back. */
const WAITING_MESSAGES = 64;

/**
 * The stdin and stdout of an agent as messages, one a line. Unlike the SDK's own stream it passes over what is no
 * message (many a program logs to stdout by mistake), and can be held back by whoever reads the answers. Notifications
 * do not go through the SDK: it would be loud about every one that is newer than itself, and late with the others.
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

  /** Reads no more until {@link release}, called as often. */
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
        // One that ends does not drain.
        else stdin.once("drain", resolve).once("close", resolve);
      }),
  });
}

/** Far more than any message needs. `JSON.stringify` overflows the stack at some thousand levels. */
const MAX_DEPTH = 256;

class MessageTooDeep extends Error {
  constructor() {
    super(`A message nests deeper than ${MAX_DEPTH} levels.`);
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
