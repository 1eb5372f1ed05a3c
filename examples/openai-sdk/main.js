import { createGateway } from "excursor";
import OpenAI from "openai";

// The simulator answers. For your own account, run `excursor login` once and leave `demo` out.
const gateway = await createGateway({ demo: true }).start();
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key });
const messages = [{ role: "user", content: "@sim think let me see ;; say hello" }];
const stream = await client.chat.completions.create({ model: "auto", messages, stream: true });
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? "");
await gateway.stop();
