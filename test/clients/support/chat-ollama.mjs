// Run in `.clients`, where these are installed. Prints one JSON line: what LangChain's ChatOllama got.
import { ChatOllama } from "@langchain/ollama";
import { tool as chainTool, createAgent } from "langchain";
import { z } from "zod";

const [baseUrl, apiKey] = process.argv.slice(2);
const TASK =
  '@sim think x ;; say first ;; call look {"at":"a"} ;; call look {"at":"b"} ;; wait ;; call look {"at":"c"} ;; say {{result.0}} {{result.1}} {{result.2}} {{reused}}';
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const headers = { authorization: `Bearer ${apiKey}` };
const model = new ChatOllama({ model: "gpt-5.5", baseUrl, headers, maxRetries: 0 });
const look = chainTool(async ({ at }) => `saw ${at}`, {
  name: "look",
  description: "looks",
  schema: z.object({ at: z.string() }),
});
const agent = createAgent({ model, tools: [look] });
const city = model.withStructuredOutput(z.object({ city: z.string() }), { method: "jsonSchema" });
const gather = async (pieces, textOf) => {
  let text = "";
  for await (const piece of pieces) text += textOf(piece);
  return text;
};
const errorOf = async (promise) => promise.then(() => "none").catch(({ message }) => message);

const thought = await model.invoke("@sim think hm ;; say hi there");
const image = { type: "image_url", image_url: `data:image/png;base64,${PNG}` };
const stream = await model.stream("@sim say a ;; silent 60000", { signal: AbortSignal.timeout(2000) });
console.log(
  JSON.stringify({
    text: thought.text,
    thinking: thought.additional_kwargs.reasoning_content,
    usage: thought.usage_metadata.output_tokens > 0,
    streamed: await gather(await model.stream("@sim think hm ;; say a b c"), ({ text }) => text),
    image: (await model.invoke([{ role: "user", content: [{ type: "text", text: "@sim say {{images}}" }, image] }]))
      .text,
    object: await city.invoke('@sim say {"city":"Bern"}'),
    agent: (await agent.invoke({ messages: [{ role: "user", content: TASK }] })).messages.at(-1).text,
    unknown: await errorOf(new ChatOllama({ model: "gpt-5.6", baseUrl, headers, maxRetries: 0 }).invoke("hi")),
    broken: await errorOf(gather(await model.stream("@sim say a ;; fail internal went wrong"), ({ text }) => text)),
    aborted: await errorOf(gather(stream, ({ text }) => text)),
  }),
);
process.exit(0);
