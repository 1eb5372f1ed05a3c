// An agent that does what the prompt says: steps separated by ";;". Flags say what it can do and how it misbehaves.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { agent, ndJsonStream, RequestError } from "@agentclientprotocol/sdk";

const flags = new Set(process.argv.slice(2));
const has = (flag) => flags.has(flag);
if (has("--exit-at-start")) {
  process.stderr.write("no luck today\n");
  process.exit(3);
}
if (has("--deaf")) {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1000);
  await new Promise(() => {});
}

const sessions = new Map();
let count = 0;
let opened = 0;

const note = (text) => {
  if (process.env.NOTES) appendFileSync(process.env.NOTES, `${text}\n`);
};
note(`start ${process.pid}`);

const modelOption = (currentValue) => ({
  id: "model",
  name: "Model",
  category: "model",
  type: "select",
  currentValue,
  options: [
    { value: "small", name: "Small" },
    { value: "large", name: "Large" },
  ],
});

const steps = {
  say: (turn, text) => turn.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }),
  think: (turn, text) => turn.update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text } }),
  session: (turn) => steps.say(turn, turn.sessionId),
  pid: (turn) => steps.say(turn, String(process.pid)),
  model: (turn) => steps.say(turn, turn.session.model),
  received: (turn) => steps.say(turn, JSON.stringify(turn.prompt)),
  environment: (turn) => steps.say(turn, Object.keys(process.env).sort().join(",")),
  arguments: (turn) => steps.say(turn, JSON.stringify(process.argv.slice(2))),
  cwd: (turn) => steps.say(turn, turn.session.cwd),
  plan: (turn, content) =>
    turn.update({ sessionUpdate: "plan", entries: [{ content, priority: "high", status: "pending" }] }),
  async tool(turn, title) {
    const toolCallId = `tool-${++count}`;
    await turn.update({ sessionUpdate: "tool_call", toolCallId, title, kind: "read", status: "pending" });
    await turn.update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
  },
  async failing(turn, title) {
    const toolCallId = `tool-${++count}`;
    await turn.update({ sessionUpdate: "tool_call", toolCallId, title, kind: "execute", status: "in_progress" });
    await turn.update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
  },
  async permission(turn, kind) {
    const { outcome } = await turn.client.request("session/request_permission", {
      sessionId: turn.sessionId,
      toolCall: { toolCallId: `tool-${++count}`, title: `May I ${kind}?`, kind },
      options: [
        { optionId: "always", name: "Always", kind: "allow_always" },
        { optionId: "yes", name: "Yes", kind: "allow_once" },
        { optionId: "no", name: "No", kind: "reject_once" },
      ],
    });
    note(`permission ${JSON.stringify(outcome)}`);
    await steps.say(turn, outcome.outcome === "selected" ? outcome.optionId : outcome.outcome);
  },
  files: (turn) =>
    turn.client.request("fs/read_text_file", { sessionId: turn.sessionId, path: "/etc/hostname" }).then(
      () => steps.say(turn, "read"),
      (error) => steps.say(turn, `refused ${error.code}`),
    ),
  async wait(turn) {
    note("waiting");
    await new Promise((resolve) => {
      turn.session.onCancel = resolve;
    });
  },
  async ignore() {
    note("ignoring");
    await new Promise(() => {});
  },
  garbage: () => process.stdout.write('this is no message\n{"neither":"is this"}\n[1,2]\nnull\n\n{\n'),
  huge: async () => {
    const piece = "x".repeat(1 << 20);
    for (let index = 0; index < 64; index++) {
      if (!process.stdout.write(piece))
        await Promise.race([new Promise((go) => process.stdout.once("drain", go)), sleep(500)]);
    }
  },
  odd: (turn) => turn.update({ sessionUpdate: "something_new", anything: 1 }),
  foreign: (turn) => turn.client.notify("something/else", { some: "thing" }),
  flood: async (turn, number) => {
    for (let index = 0; index < Number(number); index++) await steps.say(turn, `${index} `);
  },
  fork() {
    const child = spawn(process.execPath, ["-e", "process.on('SIGTERM',()=>{});setInterval(()=>{},1000)"], {
      stdio: "ignore",
    });
    note(`child ${child.pid}`);
  },
  stderr: (_, text) => process.stderr.write(`${text}\n`),
  fail(_, text) {
    throw RequestError.internalError({ details: text });
  },
  login() {
    throw RequestError.authRequired();
  },
  crash: () => process.exit(7),
  kill: () => process.kill(process.pid, "SIGKILL"),
  stop: (turn, reason) => {
    turn.reason = reason;
  },
};

/** With `--mode=NAME` every session begins in that mode. */
const mode = process.argv.find((argument) => argument.startsWith("--mode="))?.slice("--mode=".length);
const modes = () =>
  mode === undefined
    ? {}
    : { modes: { currentModeId: mode, availableModes: ["ask", mode].map((id) => ({ id, name: id })) } };

const sessionOf = (sessionId) => {
  const session = sessions.get(sessionId);
  if (!session) throw RequestError.resourceNotFound(sessionId);
  return session;
};

agent({ name: "scripted" })
  .onRequest("initialize", async () => {
    if (has("--mute")) await new Promise(() => {});
    if (has("--log-first")) process.stdout.write("Starting up...\n");
    return {
      protocolVersion: has("--old") ? 0 : 1,
      agentCapabilities: {
        loadSession: has("--load"),
        promptCapabilities: { image: has("--images"), embeddedContext: has("--images") },
        sessionCapabilities: { close: {}, ...(has("--resume") && { resume: {} }) },
      },
    };
  })
  .onRequest("session/new", ({ params, client }) => {
    const sessionId = `session-${process.pid}-${++opened}`;
    sessions.set(sessionId, { cwd: params.cwd, model: "small" });
    note(`new ${sessionId}`);
    const availableCommands = [{ name: "review", description: "Look at it", input: null }];
    const update = { sessionUpdate: "available_commands_update", availableCommands };
    setTimeout(() => client.notify("session/update", { sessionId, update }), 10);
    return { sessionId, configOptions: [modelOption("small")], ...modes() };
  })
  .onRequest("session/resume", ({ params }) => {
    sessions.set(params.sessionId, { cwd: params.cwd, model: "small" });
    note(`resume ${params.sessionId}`);
    return modes();
  })
  .onRequest("session/load", async ({ params, client }) => {
    sessions.set(params.sessionId, { cwd: params.cwd, model: "small" });
    note(`load ${params.sessionId}`);
    const content = { type: "text", text: "an old answer" };
    await client.notify("session/update", {
      sessionId: params.sessionId,
      update: { sessionUpdate: "agent_message_chunk", content },
    });
    return {};
  })
  .onRequest("session/close", ({ params }) => {
    note(`close ${params.sessionId}`);
    sessions.delete(params.sessionId);
  })
  .onRequest("session/set_mode", ({ params }) => {
    note(`mode ${params.sessionId} ${params.modeId}`);
    return {};
  })
  .onRequest("session/set_config_option", ({ params }) => {
    sessionOf(params.sessionId).model = params.value;
    return { configOptions: [modelOption(params.value)] };
  })
  .onNotification("session/cancel", ({ params }) => {
    note(`cancel ${params.sessionId}`);
    const session = sessions.get(params.sessionId);
    session.isCancelled = true;
    session.onCancel?.();
  })
  .onRequest("session/prompt", async ({ params: { sessionId, prompt }, client }) => {
    const session = sessionOf(sessionId);
    session.isCancelled = false;
    const update = (given) => client.notify("session/update", { sessionId, update: given });
    const turn = { sessionId, session, prompt, client, update, reason: "end_turn" };
    for (const step of (prompt.at(-1).text ?? "say seen").split(";;")) {
      const [, name, rest] = /^\s*(\S*)\s?(.*)$/s.exec(step);
      if (Object.hasOwn(steps, name)) await steps[name](turn, rest.trimEnd());
      if (session.isCancelled) return { stopReason: "cancelled" };
    }
    return { stopReason: turn.reason };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
