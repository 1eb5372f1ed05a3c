// Run in `.clients`, where these are installed. Prints one JSON line: what each of them got.
import { ChatOpenAI } from "@langchain/openai";
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool } from "@openai/agents";
import { tool as chainTool, createAgent } from "langchain";
import OpenAI from "openai";
import { z } from "zod";

const [dialect, baseURL, apiKey] = process.argv.slice(2);
const isResponses = dialect === "responses";
const MODEL = "gpt-5.5";
const TASK =
  '@sim think x ;; say first ;; call look {"at":"a"} ;; call look {"at":"b"} ;; say {{result.0}} {{result.1}} {{reused}}';
const ROUNDS =
  '@sim call look {"at":"a"} ;; wait ;; call look {"at":"b"} ;; wait ;; call look {"at":"c"} ;; say {{result.2}} {{reused}}';
const ENDLESS = "@sim say a ;; silent 60000";
const LIMITED = "@sim fail resource_exhausted ERROR_RATE_LIMITED You are too quick";
const IMAGES = "@sim say {{images}}";
const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const CITY = '@sim say {"city":"Bern"}';
const city = z.object({ city: z.string() });
const looking = { name: "look", description: "looks" };
const at = z.object({ at: z.string() });
const look = async (args) => `saw ${args.at}`;
const gather = async (pieces, textOf) => {
  let text = "";
  for await (const piece of pieces) text += textOf(piece);
  return text;
};

const errorOf = async (promise) => promise.then(() => "none").catch(({ message }) => message);

async function langChain() {
  const configuration = { baseURL };
  const model = new ChatOpenAI({ model: MODEL, apiKey, configuration, useResponsesApi: isResponses, maxRetries: 0 });
  const agent = createAgent({ model, tools: [chainTool(look, { ...looking, schema: at })] });
  const messages = [{ role: "user", content: TASK }];
  const seen = [
    { type: "text", text: IMAGES },
    { type: "image_url", image_url: { url: PNG } },
  ];
  const said = await model.invoke("@sim think hm ;; say hi there");
  const stopped = async () => {
    const stream = await model.stream(ENDLESS, { signal: AbortSignal.timeout(2000) });
    await gather(stream, ({ text }) => text);
  };
  return {
    text: said.text,
    usage: said.usage_metadata.output_tokens > 0,
    image: (await model.invoke([{ role: "user", content: seen }])).text,
    rounds: (await agent.invoke({ messages: [{ role: "user", content: ROUNDS }] })).messages.at(-1).text,
    limited: await errorOf(model.invoke(LIMITED)),
    aborted: await errorOf(stopped()),
    streamed: await gather(await model.stream("@sim think hm ;; say a b c"), ({ text }) => text),
    object: await model.withStructuredOutput(city).invoke(CITY),
    agent: (await agent.invoke({ messages })).messages.at(-1).text,
    agentStreamed: await gather(await agent.stream({ messages }, { streamMode: "messages" }), ([piece]) =>
      piece.getType() === "ai" ? piece.text : "",
    ),
  };
}

async function agents() {
  setTracingDisabled(true);
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const model = isResponses ? new OpenAIResponsesModel(client, MODEL) : new OpenAIChatCompletionsModel(client, MODEL);
  const tools = [tool({ ...looking, parameters: at, execute: look })];
  const agent = new Agent({ name: "a", instructions: "Be brief.", model, tools });
  const whole = await run(agent, TASK);
  const stream = await run(agent, TASK, { stream: true });
  const streamed = await gather(stream.toTextStream(), (text) => text);
  const next = await run(agent, [...whole.history, { role: "user", content: "@sim say {{reused}} {{system}}" }]);
  const seen = [
    { type: "input_text", text: IMAGES },
    { type: "input_image", image: PNG },
  ];
  const stopped = async () => {
    const endless = await run(agent, ENDLESS, { stream: true, signal: AbortSignal.timeout(2000) });
    await gather(endless.toTextStream(), (text) => text);
    return endless.completed;
  };
  await errorOf(stopped());
  const typed = new Agent({ name: "b", model, outputType: city });
  return {
    agent: whole.finalOutput,
    agentStreamed: streamed,
    next: next.finalOutput,
    usage: whole.rawResponses[0].usage.outputTokens > 0,
    image: (await run(agent, [{ role: "user", content: seen }])).finalOutput,
    rounds: (await run(agent, ROUNDS)).finalOutput,
    limited: await errorOf(run(agent, LIMITED)),
    object: (await run(typed, CITY)).finalOutput,
  };
}

console.log(JSON.stringify({ langChain: await langChain(), agents: await agents() }));
process.exit(0);
