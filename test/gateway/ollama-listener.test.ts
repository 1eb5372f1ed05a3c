import { spawn } from "node:child_process";
import { once } from "node:events";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { canRunAs } from "../support/other-user.ts";
import { setUpGateway } from "./support/gateway-process.ts";

const QUESTION = { model: "gpt-5.5", messages: [{ role: "user" as const, content: "@sim say hi" }] };

async function setUp() {
  const { open } = await setUpGateway();
  const gateway = await open("--ollama", "--ollama-port", "0");
  return { ...gateway, ollamaUrl: gateway.ollamaUrl ?? "" };
}

describe.skipIf(process.platform !== "linux")("the listener for Ollama's clients", () => {
  it("needs no key, and takes a placeholder for one; the gateway itself needs its key", async () => {
    const { url, ollamaUrl } = await setUp();
    const client = new Ollama({ host: ollamaUrl });
    expect((await client.chat(QUESTION)).message.content).toBe("hi");
    expect((await fetch(ollamaUrl)).status).toBe(200);
    const openAi = new OpenAI({ baseURL: `${ollamaUrl}/v1`, apiKey: "ollama", maxRetries: 0 });
    expect((await openAi.chat.completions.create(QUESTION)).choices[0]?.message.content).toBe("hi");
    await expect(new Ollama({ host: url }).chat(QUESTION)).rejects.toMatchObject({ status_code: 401 });
  });

  it("refuses pages, other names of the host, and bodies that a page can send (SEC-07)", async () => {
    const { ollamaUrl } = await setUp();
    const post = async (headers: Record<string, string>) => {
      const init = { method: "POST", body: JSON.stringify({ ...QUESTION, stream: false }) };
      const all = { "content-type": "application/json", ...headers };
      return (await fetch(`${ollamaUrl}/api/chat`, { ...init, headers: all })).status;
    };
    expect(await post({})).toBe(200);
    expect(await post({ origin: "https://evil.example" })).toBe(403);
    expect(await post({ origin: "null" })).toBe(403);
    expect(await post({ "content-type": "text/plain" })).toBe(415);
    const rebound = await curl(ollamaUrl, ["-H", "host: evil.example"]);
    expect(rebound).toBe("421");
  });

  it.skipIf(process.getuid?.() !== 0)("refuses other users of this machine (SEC-45)", async () => {
    const { ollamaUrl } = await setUp();
    expect(await curl(ollamaUrl, [], 0)).toBe("200");
    expect(await curl(ollamaUrl, [], 65_534)).toBe("403");
  });

  it.skipIf(!canRunAs(65_534))("runs nothing for another user who sends and leaves (A25)", async () => {
    const { open, trace } = await setUpGateway();
    const { ollamaUrl = "" } = await open("--ollama", "--ollama-port", "0");
    const { port, host } = new URL(ollamaUrl);
    const body = JSON.stringify({ ...QUESTION, stream: false });
    const head = `POST /api/chat HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    const program = `const { connect } = require("node:net");
      for (let index = 0; index < 40; index++) {
        const socket = connect(${port}, "127.0.0.1", () => socket.write(${JSON.stringify(`${head}\r\n\r\n${body}`)}, () => socket.destroy()));
        socket.on("error", () => {});
      }`;
    const child = spawn(process.execPath, ["-e", program], { uid: 65_534, gid: 65_534, cwd: "/", stdio: "ignore" });
    expect(await once(child, "close")).toEqual([0, null]);
    await new Ollama({ host: ollamaUrl }).chat(QUESTION);
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
  });

  it("is off unless it is asked for, and says which port is taken", async () => {
    const { open, start } = await setUpGateway();
    expect((await open()).ollamaUrl).toBeUndefined();
    const first = await open("--ollama", "--ollama-port", "0");
    const taken = new URL(first.ollamaUrl ?? "").port;
    await expect(start("--ollama", "--ollama-port", taken)).rejects.toThrow(/already in use[\s\S]*--ollama-port/);
  });
});

/** Returns the status of `GET /api/tags`, asked by another process. */
function curl(url: string, args: readonly string[], uid?: number): Promise<string> {
  const all = ["-s", "-o", "/dev/null", "-w", "%{http_code}", ...args, `${url}/api/tags`];
  const child = spawn("curl", all, {
    stdio: ["ignore", "pipe", "ignore"],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  return new Promise((resolve, reject) => child.once("error", reject).once("close", () => resolve(text)));
}
