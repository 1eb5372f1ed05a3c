import { describe, expect, it } from "vitest";
import { setUp, TRANSPORTS } from "./support/transports.ts";

/** Faults after which the answer goes on, and what a client must still see. */
const HARMLESS = [
  "goaway",
  "gzip",
  "split",
  "keep-open",
  "late-checkpoint",
  "no-settled",
  "slow-batch",
  "no-usage",
  "dup-frame",
] as const;

/** Faults that end the answer, and what our wire makes of each; over HTTP/1.1 there is only a connection to lose. */
const FATAL = {
  rst: { h2: ["upstream-failed", "stream_reset"], h1: ["upstream-unavailable", "connection_reset"] },
  refused: { h2: ["upstream-unavailable", "stream_refused"], h1: ["upstream-unavailable", "connection_reset"] },
  "tcp-reset": { h2: ["upstream-unavailable", "connection_reset"], h1: ["upstream-unavailable", "connection_reset"] },
  truncate: { h2: ["upstream-unavailable", "stream_truncated"], h1: ["upstream-unavailable", "connection_reset"] },
  garbage: { h2: ["upstream-protocol", "message_invalid"], h1: ["upstream-protocol", "message_invalid"] },
  oversize: { h2: ["upstream-protocol", "frame_too_large"], h1: ["upstream-protocol", "frame_too_large"] },
  "gzip-bomb": { h2: ["upstream-protocol", "inflate_too_large"], h1: ["upstream-protocol", "inflate_too_large"] },
  stall: { h2: ["timeout", "idle_timeout"], h1: ["timeout", "idle_timeout"] },
  "end-without-turn-ended": undefined,
} as const;

describe.each(TRANSPORTS)("the faults of the backend as our wire meets them, over %s", (transport) => {
  it.each(Object.entries(FATAL))(
    "%s ends the run once, with a typed error (REL-10, REL-12, REL-16, REL-18)",
    async (fault, expected) => {
      const { client } = await setUp(transport, fault === "stall" ? { limits: { idleTimeoutMs: 300 } } : {});
      const first = await client.say(`@sim say before ;; fault ${fault} ;; say after`);
      if (expected) expect([first.error?.kind, first.error?.code]).toEqual(expected[transport]);
      else expect(first.error).toBeUndefined();
      expect(first.text).toBe("before");
      expect(first.usage).toBeUndefined();
      // The fault happened once. A checkpoint says how far the turn had come, so nothing is repeated.
      const second = await client.resume();
      expect(second.error).toBeUndefined();
      expect(second.text).toBe("after");
    },
  );

  it.each(HARMLESS)("%s does not lose a word", async (fault) => {
    const { client } = await setUp(transport, { tools: { look: () => "seen" } });
    const abort = new AbortController();
    const prompt = `@sim say before ;; fault ${fault} ;; call look {} ;; say after {{result}}`;
    const { text, error, updates } = await client.say(prompt, {
      signal: abort.signal,
      // Nobody ends a stream that is kept open but the client.
      onMessage: (message) => {
        if (fault !== "keep-open" || message.case !== "conversationCheckpointUpdate") return;
        if (message.value.readPaths[0]?.includes(":done:")) abort.abort();
      },
    });
    expect(text).toBe("beforeafter seen");
    expect(updates).toContain("turnEnded");
    if (fault === "keep-open") expect(error?.kind).toBe("canceled");
    else expect(error).toBeUndefined();
  });

  it("refused comes before the stream if it comes first, and says that nothing was done", async () => {
    const { client } = await setUp(transport);
    const first = await client.say("@sim fault refused times=2 ;; say hi");
    expect(first.error?.kind).toBe("upstream-unavailable");
    expect(first.messages).toHaveLength(0);
    if (transport === "h2") expect(first.end?.reached).toBe(false);
  });

  it("rst carries the code it is given (REL-10)", async () => {
    const { client } = await setUp(transport);
    const { error } = await client.say("@sim fault rst code=11");
    expect(error).toBeDefined();
    if (transport === "h2") expect(error?.context["http2Code"]).toBe(11);
  });

  it("goaway lets all open runs finish, and later ones go elsewhere (REL-11)", async () => {
    const { client } = await setUp(transport);
    const prompts = Array.from({ length: 20 }, (_, n) => `@sim say a${n} ;; fault goaway ;; say b${n}`);
    const records = await Promise.all(prompts.map((prompt) => client.say(prompt)));
    expect(records.map(({ text, error }) => [text, error])).toEqual(prompts.map((_, n) => [`a${n}b${n}`, undefined]));
  });

  it("dup-frame asks the same twice: the answers to both are accepted", async () => {
    const { client } = await setUp(transport, { tools: { look: () => "x" } });
    const { execs, error } = await client.say("@sim fault dup-frame ;; call look {}");
    const asked = execs.filter(({ message }) => message.case === "mcpArgs");
    expect(asked).toHaveLength(2);
    expect(asked[0]?.id).toBe(asked[1]?.id);
    expect(error).toBeUndefined();
  });

  it("no-usage ends the turn without figures, late-checkpoint sends the last one a second later", async () => {
    const { client, trace } = await setUp(transport);
    const { usage } = await client.say("@sim fault no-usage ;; fault late-checkpoint ;; say hi");
    expect(usage?.inputTokens).toBeUndefined();
    const sent = trace.filter(({ dir }) => dir === "out");
    const ended = sent.find(({ kind }) => kind === "turn_ended");
    const last = sent.at(-1);
    expect(last?.kind).toBe("conversation_checkpoint_update");
    expect((last?.t ?? 0) - (ended?.t ?? 0)).toBeGreaterThanOrEqual(990);
  });

  it("end-after-calls ends the stream while the calls are pending, and the turn can be resumed", async () => {
    const { client } = await setUp(transport, { tools: { look: () => "seen" } });
    const first = await client.say("@sim say a ;; fault end-after-calls ;; call look {} ;; say b {{result}}");
    expect(first.execs.filter(({ message }) => message.case === "mcpArgs")).toHaveLength(1);
    expect([first.text, first.error, first.usage]).toEqual(["a", undefined, undefined]);
    expect((await client.resume()).text).toBe("b seen");
  });

  it("a fault happens as often as times=N says", async () => {
    const { client } = await setUp(transport);
    const prompt = "@sim fault rst times=2 ;; say through";
    expect((await client.say(prompt)).error).toBeDefined();
    expect((await client.say(prompt)).error).toBeDefined();
    expect((await client.say(prompt)).text).toBe("through");
  });
});
