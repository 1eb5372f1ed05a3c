import type { NowMessage } from "../../../src/dashboard/messages.ts";
import type { Visitor } from "./open-dashboard.ts";

/** Reads messages of the feed until one is as wanted. */
export async function readFeed(visitor: Visitor, isWanted: (message: NowMessage) => boolean): Promise<NowMessage> {
  const response = await fetch(`${visitor.url}/ui/api/feed`, { headers: { cookie: visitor.cookie } });
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const message = JSON.parse(part.slice("data: ".length)) as NowMessage;
      if (isWanted(message)) return message;
    }
  }
  throw new Error("the feed ended");
}
