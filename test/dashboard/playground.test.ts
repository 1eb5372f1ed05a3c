import { describe, expect, it } from "vitest";
import { openDashboard } from "./support/open-dashboard.ts";

const question = { model: "auto", messages: [{ role: "user", content: "@sim say hello there" }] };

const dialects = [
  ["/v1/chat/completions", { ...question, stream: true }],
  ["/v1/responses", { model: "auto", stream: true, input: "@sim say hello there" }],
  ["/v1/messages", { ...question, stream: true, max_tokens: 1000 }],
  ["/v1beta/models/auto:streamGenerateContent?alt=sse", { contents: [{ parts: [{ text: "@sim say hello there" }] }] }],
  ["/api/chat", { ...question, stream: true }],
] as const;

describe("the playground", () => {
  it.each(dialects)("serves %s to a session, and records it", async (path, body) => {
    const visitor = await openDashboard();
    const reply = await visitor.send("POST", `/play${path}`, body);
    expect(reply.status).toBe(200);
    expect(await reply.text()).toMatch(/hello.*there/s);
    const feed = await visitor.get("/feed");
    const first = await feed.body?.getReader().read();
    const { recent } = JSON.parse(new TextDecoder().decode(first?.value).slice("data: ".length));
    expect(recent).toMatchObject([{ key: "owner", status: 200, run: "fresh" }]);
  });

  it("answers an error in the form of the dialect", async () => {
    const visitor = await openDashboard();
    const reply = await visitor.send("POST", "/play/v1/messages", { ...question, messages: 7 });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
  });

  it("serves no route of the dashboard or without a key, and none that does not exist", async () => {
    const visitor = await openDashboard();
    for (const path of ["/ui/links", "/ui/api/keys", "/ui/api/play/v1/chat/completions", "/nothing"]) {
      expect((await visitor.send("POST", `/play${path}`, {})).status).toBe(404);
    }
  });

  it("needs the session and its token (SEC-46)", async () => {
    const visitor = await openDashboard();
    const path = "/play/v1/chat/completions";
    expect((await visitor.send("POST", path, question, { "x-excursor-csrf": "wrong" })).status).toBe(403);
    expect((await visitor.send("POST", path, question, { cookie: "" })).status).toBe(401);
    expect((await visitor.send("POST", path, question, { origin: "http://elsewhere.example" })).status).toBe(403);
  });
});
