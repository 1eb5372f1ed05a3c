// Drives the official client in a process of its own, since it reads its settings when it is imported. Runs from the
// folder where the client is installed: the client looks for its helper programs from the main script on.
// Takes commands `{id, op, …}` as JSON lines and answers with lines `{id, …}`; the last one has `done` or `failed`.
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, Cursor } from "@cursor/sdk";

const agents = new Map();
const runs = new Map();
const held = new Map();

const print = (line) =>
  process.stdout.write(`${JSON.stringify(line, (_, value) => (typeof value === "bigint" ? Number(value) : value))}\n`);

const anyObject = { type: "object", properties: {} };
const customTools = {
  look: {
    description: "Says what it was given",
    inputSchema: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
    execute: (args) => `looked at ${JSON.stringify(args)}`,
  },
  slow: {
    description: "Answers after a while",
    inputSchema: anyObject,
    async execute({ ms, text }) {
      await sleep(ms);
      print({ event: "tool", name: "slow", text });
      return text;
    },
  },
  large: {
    description: "Answers with a long text",
    inputSchema: anyObject,
    execute: ({ bytes }) => "0123456789abcdef".repeat(bytes / 16),
  },
  boom: {
    description: "Throws",
    inputSchema: anyObject,
    execute() {
      throw new Error("boom went off");
    },
  },
  hang: {
    description: "Never answers",
    inputSchema: anyObject,
    async execute() {
      print({ event: "tool", name: "hang" });
      await new Promise(() => {});
    },
  },
};

const localOptions = (local = {}) => ({ enableAgentRetries: false, customTools, ...local });

const ops = {
  async create({ agent, options: { local, ...options } }) {
    const created = await Agent.create({ model: { id: "composer-2.5" }, ...options, local: localOptions(local) });
    agents.set(agent, created);
    return created.agentId;
  },
  async resume({ agent, agentId, options: { local, ...options } }) {
    const resumed = await Agent.resume(agentId, { ...options, local: localOptions(local) });
    agents.set(agent, resumed);
    return resumed.agentId;
  },
  async send({ id, agent, message, options: { holdAt, ...options } }) {
    const run = await agents.get(agent).send(message, options);
    runs.set(agent, run);
    const hold = Promise.withResolvers();
    held.set(agent, hold);
    for await (const streamed of run.stream()) {
      print({ id, message: streamed });
      if (streamed.type === holdAt) await hold.promise;
    }
    return run.wait();
  },
  readOn: ({ agent }) => held.get(agent).resolve(),
  cancel: ({ agent }) => runs.get(agent).cancel(),
  steer: ({ agent, text }) => runs.get(agent).steer(text),
  models: () => Cursor.models.list(),
  me: () => Cursor.me(),
  async close() {
    for (const agent of agents.values()) await agent[Symbol.asyncDispose]();
    setTimeout(() => process.exit(0), 10);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  Promise.resolve()
    .then(() => ops[command.op](command))
    .then(
      (value) => print({ id: command.id, done: value ?? null }),
      ({ name, message, code, status }) => print({ id: command.id, failed: { name, message, code, status } }),
    );
}
process.exit(0);
