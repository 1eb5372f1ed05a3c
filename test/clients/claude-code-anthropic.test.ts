import { expect, it } from "vitest";
import { type Reply, signatureOf, startAnthropicServer, streamOf } from "../drivers/support/anthropic-server.ts";
import { replyStream } from "../drivers/support/api-server.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../gateway/support/own-gateway.ts";
import { runClaude } from "./support/claude-code.ts";

const THOUGHT = "Let me look at it first.\nThen I tell.";

/** Asks for one command, and tells what came of it. */
const model: Reply = ({ body }, response) => {
  const isBack = JSON.stringify(body.messages).includes('"tool_result"');
  const call = {
    type: "tool_use",
    id: "toolu_01A",
    name: "Bash",
    input: { command: "echo from the shell", description: "d" },
  } as const;
  const thinking = { type: "thinking", text: THOUGHT } as const;
  const blocks = isBack || !body.tools ? [{ type: "text", text: "All done." } as const] : [thinking, call];
  replyStream(response, streamOf({ blocks }));
};

it("Claude Code shows what a model behind the Anthropic driver thinks, and brings it back as it was", async () => {
  const upstream = await startAnthropicServer(...Array<Reply>(8).fill(model));
  const { url } = await openOwnGateway({
    anthropic: { key: "k", baseURL: upstream.url },
    models: { "claude-*": "anthropic" },
  });
  const environment = { ANTHROPIC_AUTH_TOKEN: KEY, ANTHROPIC_DEFAULT_HAIKU_MODEL: "claude-sonnet-5" };
  const { code, lines, stderr } = await runClaude({ url, environment, prompt: "look" }).ended;
  expect(code, stderr).toBe(0);
  expect(lines.at(-1)).toMatchObject({ type: "result", is_error: false, result: "All done." });
  const thought = lines.flatMap((line) => line.message?.content ?? []).flatMap(({ thinking }) => thinking ?? []);
  expect(thought).toContain(THOUGHT);
  const last = upstream.calls.at(-1)?.body.messages;
  const answer = last.findLast(({ role }: { role: string }) => role === "assistant").content;
  expect(answer[0]).toEqual({ type: "thinking", thinking: THOUGHT, signature: signatureOf(THOUGHT) });
  expect(JSON.stringify(last)).toContain("from the shell");
});
