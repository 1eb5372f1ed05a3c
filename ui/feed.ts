import { signal } from "@preact/signals";
import type { NowMessage } from "../src/dashboard/messages.ts";
import { beginSession, session } from "./session.ts";

/** What happens at the gateway now; undefined until the first message. */
export const now = signal<NowMessage | undefined>(undefined);

/** `lost`: the connection is gone, and the page tries to get it back. `none`: other pages have all connections. */
export const connection = signal<"connecting" | "live" | "lost" | "none">("connecting");

const RETRY_MS = 2000;
/** The gateway sends something at least every ten seconds. */
const SILENCE_MS = 25_000;

/** Begins the session and opens the feed, and does so again whenever the connection is lost, until the session is over. */
export async function connect(): Promise<void> {
  const state = await beginSession();
  const { value } = session;
  if (state === "open" && value.type === "open" && value.hasFeed) {
    openFeed();
    return;
  }
  if (state === "open") connection.value = "none";
  if (state !== "none") setTimeout(connect, RETRY_MS);
}

function openFeed(): void {
  const source = new EventSource("/ui/api/feed");
  let silence: ReturnType<typeof setTimeout>;
  const close = () => {
    clearTimeout(silence);
    source.close();
    removeEventListener("pagehide", close);
  };
  const lose = () => {
    close();
    connection.value = "lost";
    setTimeout(connect, RETRY_MS);
  };
  const hear = () => {
    clearTimeout(silence);
    silence = setTimeout(lose, SILENCE_MS);
  };
  source.onopen = hear;
  source.onmessage = ({ data }) => {
    hear();
    connection.value = "live";
    now.value = JSON.parse(data as string) as NowMessage;
  };
  source.addEventListener("over", lose);
  source.onerror = lose;
  // Browsers keep a page that was left, with its connections, for the way back to it.
  addEventListener("pagehide", close);
}

addEventListener("pageshow", ({ persisted }) => {
  if (persisted) void connect();
});
