import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { ExcursorError } from "../../core/errors.ts";
import type { Call } from "../../dashboard/call.ts";
import type { DemoReply } from "../../dashboard/messages.ts";
import type { RunningGateway } from "../open-gateway.ts";

/** One request of the demo. The simulator does what its text says. */
interface DemoRequest {
  readonly afterMs: number;
  readonly client: string;
  readonly model: string;
  readonly say: string;
  /** A tool that the model calls. Its result is sent after so long; null leaves the run parked. */
  readonly tool?: { readonly name: string; readonly resultAfterMs: number | null };
}

/** What the demo plays, in about 18 seconds. */
export const MIX: readonly DemoRequest[] = [
  { afterMs: 0, client: "demo-chat", model: "claude-4.5-sonnet", say: "think A greeting. ;; tokens 220 25" },
  { afterMs: 300, client: "demo-editor", model: "gpt-5.5", say: "tokens 320 20" },
  { afterMs: 900, client: "demo-script", model: "auto", say: "usage 1800 40 ;; say Done." },
  {
    afterMs: 1400,
    client: "demo-agent",
    model: "claude-4.5-sonnet",
    say: "tokens 60 20 ;; call read_file {} ;; tokens 180 20",
    tool: { name: "read_file", resultAfterMs: 3000 },
  },
  { afterMs: 2200, client: "demo-chat", model: "a-model-that-is-missing", say: "say hello" },
  { afterMs: 3000, client: "demo-script", model: "gpt-5.5", say: "tokens 400 15" },
  {
    afterMs: 3800,
    client: "demo-agent",
    model: "claude-4.5-sonnet",
    say: "call run_tests {} ;; say Passed.",
    tool: { name: "run_tests", resultAfterMs: null },
  },
  { afterMs: 5200, client: "demo-editor", model: "auto", say: "think Let me look. ;; tokens 260 25" },
  {
    afterMs: 6500,
    client: "demo-script",
    model: "gpt-5.5",
    say: "fail resource_exhausted ERROR_RATE_LIMITED retry=30 Too many requests",
  },
  { afterMs: 8000, client: "demo-chat", model: "claude-4.5-sonnet", say: "tokens 500 20" },
];

type DemoGateway = Pick<RunningGateway, "url" | "key">;

const REQUEST_MS = 60_000;

/**
 * The call that plays a small mix on the simulator: chats, tools, a parked run, errors. The requests are real ones of
 * this gateway, so every page shows them. Only in demo mode, and one mix at a time.
 */
export function demoCalls(
  isDemo: boolean,
  running: () => DemoGateway | undefined,
  mix: readonly DemoRequest[] = MIX,
): readonly Call[] {
  let isPlaying = false;
  return [
    {
      method: "POST",
      path: "/demo",
      handle(): DemoReply {
        const gateway = running();
        if (!isDemo || !gateway) {
          throw new ExcursorError("no_demo");
        }
        if (!isPlaying) {
          isPlaying = true;
          // Failures are what the demo shows, so they are left to the pages.
          void Promise.allSettled(mix.map((request) => play(request, gateway))).finally(() => {
            isPlaying = false;
          });
        }
        return { requests: mix.length };
      },
    },
  ];
}

interface Reply {
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[];
}

async function play({ afterMs, client, model, say, tool }: DemoRequest, { url, key }: DemoGateway): Promise<void> {
  await wait(afterMs);
  const question = { role: "user", content: `@sim ${say}` };
  const tools = tool && [{ type: "function", function: { name: tool.name, parameters: { type: "object" } } }];
  const ask = async (messages: readonly object[], stream: boolean) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key.reveal()}`,
        "content-type": "application/json",
        "user-agent": client,
        "x-request-id": randomUUID(),
      },
      body: JSON.stringify({ model, messages, stream, ...(tools && { tools }) }),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    return response.text();
  };
  if (!tool) {
    await ask([question], true);
    return;
  }
  const { choices } = JSON.parse(await ask([question], false)) as { readonly choices: readonly { message: Reply }[] };
  const message = choices[0]?.message;
  if (!message?.tool_calls || tool.resultAfterMs === null) return;
  await wait(tool.resultAfterMs);
  const results = message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "42 lines" }));
  await ask([question, { role: "assistant", content: null, ...message }, ...results], true);
}
