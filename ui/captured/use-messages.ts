import { useEffect, useState } from "preact/hooks";
import type { CapturedMessage, CapturedMessagesReply } from "../../src/dashboard/captured-messages.ts";
import { get } from "../session.ts";

/** Parts of 200 KB each. */
const MAX_PARTS = 10;

export interface LoadedMessages {
  /** Undefined until they are here. */
  readonly messages: readonly CapturedMessage[] | undefined;
  readonly error: unknown;
  /** True if the call has more than is loaded. */
  readonly isCut: boolean;
}

const NONE: LoadedMessages = { messages: undefined, error: undefined, isCut: false };

/** Loads the messages of a captured call; none without a call. */
export function useMessages(call: number | undefined): LoadedMessages {
  const [state, setState] = useState<LoadedMessages>(NONE);
  useEffect(() => {
    let isCurrent = true;
    setState(NONE);
    if (call === undefined) return;
    const load = async () => {
      const messages: CapturedMessage[] = [];
      let next: number | null = 0;
      for (let part = 0; part < MAX_PARTS && next !== null && isCurrent; part++) {
        const reply: CapturedMessagesReply = await get<CapturedMessagesReply>(`/captured-calls/${call}?from=${next}`);
        messages.push(...reply.messages);
        next = reply.next;
      }
      if (isCurrent) setState({ messages, error: undefined, isCut: next !== null });
    };
    load().catch((error: unknown) => isCurrent && setState({ ...NONE, error }));
    return () => {
      isCurrent = false;
    };
  }, [call]);
  return state;
}
