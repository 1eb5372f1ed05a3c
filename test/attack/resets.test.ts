import OpenAI from "openai";
import { expect, it } from "vitest";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { converse, TOOLS } from "../gateway/support/tool-client.ts";

/** How long each soak goes on. Ten minutes: `EXCURSOR_SOAK_MS=600000 npm run test:attack -- resets`. */
const SOAK_MS = Number(process.env["EXCURSOR_SOAK_MS"] ?? 20_000);

/** A strict peer: some count a hundred, over the whole life of a connection. */
const MAX_RESETS = 20;

type Ask = (client: OpenAI, n: number) => Promise<unknown>;

/** What each of these gives to an `expect` must never be anything else. Aborts may fail; they are not looked at. */
const GOOD: Readonly<Record<string, Ask>> = {
  whole: async (client, n) => {
    const { choices } = await client.chat.completions.create(question(`@sim say whole ${n}`));
    expect(choices[0]?.message.content).toBe(`whole ${n}`);
  },
  streamed: async (client, n) => {
    let text = "";
    const stream = await client.chat.completions.create({ ...question(`@sim tokens 20 5 ;; say ${n}`), stream: true });
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toMatch(new RegExp(`t19.*${n}$`));
  },
  parked: async (client, n) => {
    const prompt = `@sim call look {"at":"${n}"} ;; call look {"at":"b"} ;; say {{result.0}} {{result.1}} {{reused}}`;
    const { said } = await converse(client, [{ role: "user", content: prompt }]);
    expect(said.at(-1)).toBe(`saw ${n} saw b stream`);
  },
  "cut by max_tokens": async (client) => {
    const asked = { ...question("@sim tokens 500 2"), max_completion_tokens: 10 };
    expect((await client.chat.completions.create(asked)).choices[0]?.finish_reason).toBe("length");
  },
  "cut by a stop sequence": async (client) => {
    const asked = { ...question("@sim say one two three ;; tokens 500 2"), stop: "three" };
    expect((await client.chat.completions.create(asked)).choices[0]?.message.content).toBe("one two ");
  },
  "cut at its calls": async (client, n) => {
    const asked = { ...question(`@sim call look {"at":"${"x".repeat(100)}${n}"}`), tools: TOOLS };
    const { choices } = await client.chat.completions.create({ ...asked, max_completion_tokens: 2 });
    expect(choices[0]?.finish_reason).toBe("length");
  },
};

const BAD: Readonly<Record<string, Ask>> = {
  "leaves in the middle": async (client, n) => {
    const stream = await client.chat.completions.create({ ...question(`@sim tokens 500 5 ;; say ${n}`), stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
  },
  "leaves a backend that does not listen": async (client, n) => {
    const signal = AbortSignal.timeout(100 + (n % 100));
    await client.chat.completions.create(question("@sim fault stall times=1000000"), { signal }).catch(() => {});
  },
  "never brings its results": async (client, n) => {
    await client.chat.completions.create({ ...question(`@sim call look {"at":"${n}"}`), tools: TOOLS });
  },
};

const question = (content: string) => ({ model: "gpt-5.5", messages: [{ role: "user" as const, content }] });

it.each([
  ["cursor", "h2"],
  ["cursor", "h1"],
  ["cursor-legacy", "h2"],
] as const)(
  "a soak of good answers, aborts, cuts and parked runs: %s over %s, a strict peer, no error",
  {
    timeout: SOAK_MS + 120_000,
  },
  async (driver, hostConfig) => {
    const { start, simStats } = await setUpGateway(
      { legacy: "on", hostConfig, maxResets: MAX_RESETS, trace: undefined },
      // What is never fetched goes soon.
      { EXCURSOR_DRIVER: driver, EXCURSOR_LEGACY_CALL: "unified", EXCURSOR_LIMITS_PARKED_MS: "5000" },
    );
    const { url, log } = await start();
    const endAt = performance.now() + SOAK_MS;
    const counts: Record<string, number> = {};
    const errors: string[] = [];
    const work = async (name: string, ask: Ask, isGood: boolean) => {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 });
      for (let n = 0; performance.now() < endAt; n++) {
        try {
          await ask(client, n);
        } catch (error) {
          if (isGood) errors.push(`${name} ${n}: ${error}`);
        }
        counts[name] = (counts[name] ?? 0) + 1;
      }
    };
    await Promise.all([
      ...Object.entries(GOOD).map(([name, ask]) => work(name, ask, true)),
      ...Object.entries(BAD).map(([name, ask]) => work(name, ask, false)),
    ]);
    expect(errors).toEqual([]);
    await expect.poll(() => simStats().openRuns, { timeout: 30_000 }).toBe(0);
    const stats = simStats();
    process.stdout.write(`${JSON.stringify({ driver, hostConfig, soakMs: SOAK_MS, counts, ...stats })}\n`);
    expect(stats.connectionsCut).toBe(0);
    expect(log()).not.toContain('"level":"error"');
  },
);
