import { ExcursorError } from "../../../core/errors.ts";
import type { ConversationAction } from "../../../gen/agent/v1/action_pb.ts";
import type { UserMessage } from "../../../gen/agent/v1/user_message_pb.ts";
import type { Update } from "../../../wire/agent/messages.ts";
import { userMessagesOf } from "../../../wire/agent/read-run-request.ts";

/** Messages that may wait for the model. */
const MAX_QUEUED = 16;

interface Queued {
  readonly message: UserMessage;
  /** Set if the client wants to know what becomes of the message. */
  readonly injectionId: string | undefined;
}

/** Messages that the user sends during a run. The model gets them before its next answer. */
export class QueuedMessages {
  readonly #show: (update: Update) => void;
  readonly #queue: Queued[] = [];

  constructor(show: (update: Update) => void) {
    this.#show = show;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  /** Queues the messages of an action. Throws if too many wait and the client cannot be told otherwise. */
  add(action: ConversationAction): void {
    const asked = userMessagesOf(action);
    const injectionId = action.action.case === "injectContextAction" ? action.action.value.injectionId : undefined;
    const isFull = this.#queue.length + asked.length > MAX_QUEUED;
    if (injectionId !== undefined) {
      const isTaken = asked.length > 0 && !isFull;
      this.#tell(injectionId, isTaken ? "queued" : "rejected");
      if (!isTaken) return;
    }
    if (isFull) {
      throw new ExcursorError("invalid-request", `More than ${MAX_QUEUED} messages wait for the model.`, {
        hint: "Wait until the run has ended.",
      });
    }
    this.#queue.push(...asked.map((message) => ({ message, injectionId })));
  }

  /** Takes the messages that wait, and tells the client so. */
  take(): readonly UserMessage[] {
    return this.#queue.splice(0).map(({ message, injectionId }) => {
      if (injectionId !== undefined) this.#tell(injectionId, "delivered");
      this.#show({ case: "userMessageAppended", value: { userMessage: message } });
      return message;
    });
  }

  #tell(injectionId: string, state: "queued" | "delivered" | "rejected"): void {
    this.#show({ case: "contextInjectionState", value: { injectionId, state: { state: { case: state, value: {} } } } });
  }
}
