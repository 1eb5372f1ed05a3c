import { toBinary } from "@bufbuild/protobuf";
import type { ConversationStateStructure } from "../../../gen/agent/v1/conversation_pb.ts";
import { type TodoItem, TodoItemSchema } from "../../../gen/agent/v1/plan_pb.ts";
import type { ClientRequests } from "../../../wire/agent/client-requests.ts";
import { type AddBlob, blobIdOf, hexId } from "../../../wire/agent/state/blobs.ts";
import type { Transcript } from "../../../wire/agent/state/transcript.ts";
import { encodeServerMessage } from "./render.ts";

/** The state of a run at one moment. */
export interface Snapshot {
  readonly transcript: Transcript;
  readonly todos: readonly TodoItem[];
  readonly tokens: { readonly used: number; readonly max: number };
}

/** Sends checkpoints to the client one after the other, each after the client has confirmed its blobs. */
export class Checkpoints {
  readonly #client: Pick<ClientRequests, "setBlob">;
  readonly #send: (payload: Uint8Array) => void;
  /** Blobs that the client has, or is being sent. */
  readonly #stored = new Map<string, Promise<void>>();
  #last: Promise<void> = Promise.resolve();

  constructor(client: Pick<ClientRequests, "setBlob">, send: (payload: Uint8Array) => void) {
    this.#client = client;
    this.#send = send;
  }

  /** Takes the snapshot when it is this checkpoint's turn, so that it is never older than the one before. */
  send(take: () => Snapshot): Promise<void> {
    this.#last = this.#last.then(async () => {
      const state = await this.store(take);
      this.#send(encodeServerMessage({ case: "conversationCheckpointUpdate", value: state }));
    });
    return this.#last;
  }

  /** Resolves when no checkpoint is being sent. Who sent one that failed has its failure. */
  settled(): Promise<void> {
    return this.#last.catch(() => {});
  }

  /** Stores the blobs of a snapshot at the client, and returns the state that names them. */
  store(take: () => Snapshot): Promise<ConversationStateStructure> {
    const { transcript, todos, tokens } = take();
    return this.storeBlobs((add) => ({
      ...transcript.state(tokens, add),
      todos: todos.map((item) => add(toBinary(TodoItemSchema, item))),
    }));
  }

  /** Resolves with what `build` returns when the client has every blob that it added. */
  async storeBlobs<T>(build: (add: AddBlob) => T): Promise<T> {
    const stores: Promise<void>[] = [];
    const built = build((bytes) => {
      const id = blobIdOf(bytes);
      const stored = this.#stored.get(hexId(id)) ?? this.#client.setBlob(id, bytes);
      this.#stored.set(hexId(id), stored);
      stores.push(stored);
      return id;
    });
    await Promise.all(stores);
    return built;
  }
}
