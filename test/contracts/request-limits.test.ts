import { describe, expect, it } from "vitest";
import { createFaceContext } from "../../src/app/face-context.ts";
import { FACES } from "../../src/app/faces.ts";
import { Secret } from "../../src/core/secret.ts";
import type { ParseContext } from "../../src/faces/shared/face.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { ControlledEngine } from "../server/support/controlled-engine.ts";
import { DEFAULT_LIMITS } from "../support/default-limits.ts";

const LIMIT = 3;
const DATA = Buffer.from("an image").toString("base64");
const URL_OF_IMAGE = `data:image/png;base64,${DATA}`;

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
/** In two groups, as evenly as it goes. */
const halves = <T>(all: readonly T[]): readonly T[][] => {
  const middle = Math.floor(all.length / 2);
  return [all.slice(0, middle), all.slice(middle)];
};

const user = (content: unknown) => ({ role: "user", content });
const model = "m";

const chatTool = (n: number) => ({ type: "function", function: { name: `t${n}`, parameters: { type: "object" } } });
const chatImages = (count: number) => times(count, () => ({ type: "image_url", image_url: { url: URL_OF_IMAGE } }));

const responsesTool = (n: number) => ({ type: "function", name: `t${n}`, parameters: { type: "object" } });
const responsesImages = (count: number) => times(count, () => ({ type: "input_image", image_url: URL_OF_IMAGE }));

const anthropicTool = (n: number) => ({ name: `t${n}`, input_schema: { type: "object" } });
const anthropicImages = (count: number) =>
  times(count, () => ({ type: "image", source: { type: "base64", media_type: "image/png", data: DATA } }));

const geminiTools = (count: number) => times(count, (n) => ({ name: `t${n}` }));
const geminiImages = (count: number) => times(count, () => ({ inlineData: { mimeType: "image/png", data: DATA } }));
const said = (...parts: object[]) => ({ role: "user", parts });

/** Requests with so many of what is counted, by face and path. */
const REQUESTS: Readonly<Record<string, Readonly<Record<string, (count: number) => object>>>> = {
  "/v1/chat/completions": {
    messages: (count) => ({ model, messages: times(count, () => user("a")) }),
    tools: (count) => ({ model, messages: [user("a")], tools: times(count, chatTool) }),
    "images of one message": (count) => ({ model, messages: [user(chatImages(count))] }),
    "images of several messages": (count) => ({ model, messages: halves(chatImages(count)).map(user) }),
  },
  "/v1/responses": {
    items: (count) => ({ model, input: times(count, () => user("a")) }),
    tools: (count) => ({ model, input: "a", tools: times(count, responsesTool) }),
    "tools in several places": (count) => {
      const [tools = [], later = []] = halves(times(count, responsesTool));
      return { model, tools, input: [{ type: "additional_tools", tools: later }, user("a")] };
    },
    "images of one message": (count) => ({ model, input: [user(responsesImages(count))] }),
    "images of several messages": (count) => ({ model, input: halves(responsesImages(count)).map(user) }),
  },
  "/v1/messages": {
    messages: (count) => ({ model, max_tokens: 9, messages: times(count, () => user("a")) }),
    tools: (count) => ({ model, max_tokens: 9, messages: [user("a")], tools: times(count, anthropicTool) }),
    "images of one message": (count) => ({ model, max_tokens: 9, messages: [user(anthropicImages(count))] }),
    "images of a message and a result": (count) => {
      const [shown = [], content = []] = halves(anthropicImages(count));
      const call = { role: "assistant", content: [{ type: "tool_use", id: "1", name: "t", input: {} }] };
      const result = { type: "tool_result", tool_use_id: "1", content };
      return { model, max_tokens: 9, messages: [user([{ type: "text", text: "a" }, ...shown]), call, user([result])] };
    },
  },
  "/v1beta/models/{model}:generateContent": {
    contents: (count) => ({ contents: times(count, () => said({ text: "a" })) }),
    functions: (count) => ({
      contents: [said({ text: "a" })],
      tools: [{ functionDeclarations: geminiTools(count) }],
    }),
    "functions of several tools": (count) => ({
      contents: [said({ text: "a" })],
      tools: halves(geminiTools(count)).map((functionDeclarations) => ({ functionDeclarations })),
    }),
    "images of one message": (count) => ({ contents: [said(...geminiImages(count))] }),
    "images of several messages": (count) => ({ contents: halves(geminiImages(count)).map((parts) => said(...parts)) }),
  },
  "/api/chat": {
    messages: (count) => ({ model, messages: times(count, () => user("a")) }),
    tools: (count) => ({ model, messages: [user("a")], tools: times(count, chatTool) }),
    "images of one message": (count) => ({ model, messages: [{ ...user("a"), images: times(count, () => DATA) }] }),
    "images of several messages": (count) => ({
      model,
      messages: halves(times(count, () => DATA)).map((images) => ({ ...user("a"), images })),
    }),
  },
  "/api/generate": {
    images: (count) => ({ model, prompt: "a", images: times(count, () => DATA) }),
  },
};

const context: ParseContext = {
  principal: { id: "p", token: undefined },
  requestId: "r1",
  images: { load: async () => ({ type: "image", mediaType: "image/png", data: Buffer.from(DATA, "base64") }) },
  path: { model },
  query: new URLSearchParams(),
  header: () => undefined,
};

const SECRET = new Secret("the secret of the tests");

async function turnFaces() {
  const engine = new ControlledEngine([]);
  const limits = { ...DEFAULT_LIMITS, messages: LIMIT, tools: LIMIT, images: LIMIT };
  const state = await openStateDatabase(":memory:");
  const routes = FACES.gateway.flatMap((module) =>
    module.routes(
      createFaceContext({ engine, images: context.images, log: {} as never, state, sealSecret: SECRET, limits }),
    ),
  );
  return new Map(routes.flatMap((route) => (route.type === "turn" ? [[route.path, route.face] as const] : [])));
}

describe("what a request may have at most", () => {
  const cases = Object.entries(REQUESTS).flatMap(([path, counted]) =>
    Object.entries(counted).map(([what, request]) => [path, what, request] as const),
  );

  it.each(cases)("%s: %s", async (path, _, request) => {
    const face = (await turnFaces()).get(path);
    await expect(face?.parse(request(LIMIT), context)).resolves.toHaveProperty("turn");
    await expect(face?.parse(request(LIMIT + 1), context)).rejects.toMatchObject({
      kind: "invalid-request",
      message: expect.stringMatching(/at most 3\b.*\b4\b/),
    });
  });
});
