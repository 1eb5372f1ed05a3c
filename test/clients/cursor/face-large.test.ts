import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startTap } from "../../faces/cursor/support/byte-tap.ts";
import { SIGNED_IN, setUpFace, setUpSim } from "../../faces/cursor/support/stage.ts";
import { type Prompt, type RunOutcome, SdkProcess } from "../support/sdk-process.ts";

const LARGE = 10 << 20;

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "excursor-large-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const seen = ({ status, error, usage, text, messages }: RunOutcome) => ({
  ...{ status, error, usage, text },
  kinds: messages.map(({ type, name, status: state }) => [type, name, state]),
});

describe.each(["h2", "h1"] as const)("ten megabytes of the official client over %s", (hostConfig) => {
  it("go through the face as without it: results of tools, files and images, and the state that holds them", async () => {
    const { sim } = await setUpSim({}, { hostConfig });
    const cwd = makeFolder();
    writeFileSync(join(cwd, "large.txt"), "0123456789abcde\n".repeat(LARGE / 16));
    const image = { data: randomBytes(LARGE).toString("base64"), mimeType: "image/png" };
    const prompts: Readonly<Record<string, Prompt>> = {
      tool: `@sim call large {"bytes":${LARGE}} ;; say done`,
      file: `@sim exec read {"path":"${join(cwd, "large.txt")}"} ;; say done`,
      image: { text: "@sim say {{images}}", images: [image] },
    };

    const converse = async (url: string) => {
      const tap = await startTap(url);
      await using sdk = new SdkProcess({ url: tap.url, home: makeFolder(), apiKey: SIGNED_IN });
      const outcomes: ReturnType<typeof seen>[] = [];
      for (const [name, prompt] of Object.entries(prompts)) {
        await sdk.create(name, { local: { cwd, enableAgentRetries: false } });
        outcomes.push(seen(await sdk.send(name, prompt)));
        // The backend asks for the state again, and checks its digests.
        outcomes.push(seen(await sdk.send(name, "@sim say {{reused}}")));
      }
      const calls = tap.calls();
      const most = (side: "sent" | "received") => Math.max(...calls.map((call) => call[side].length));
      return { outcomes, hasLarge: [most("sent") > LARGE, most("received") > LARGE] };
    };

    const direct = await converse(sim.url);
    const { url } = await setUpFace(sim.url);
    const passed = await converse(url);
    expect(direct.outcomes.map(({ status, error }) => [status, error])).toEqual(
      direct.outcomes.map(() => ["finished", undefined]),
    );
    expect(direct.outcomes.map(({ text }) => text)).toEqual([
      ...["done", "checkpoint", "done", "checkpoint"],
      ...[expect.stringContaining(`:${LARGE}`), "checkpoint"],
    ]);
    expect(passed).toEqual(direct);
    expect(passed.hasLarge).toEqual([true, true]);
  });
});
