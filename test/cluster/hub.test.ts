import { afterEach, describe, expect, it } from "vitest";
import { type Messages, TOOLS } from "../gateway/support/tool-client.ts";
import { hubCallsOf, openHubCluster } from "./support/hub-cluster.ts";
import type { OwnNode } from "./support/own-cluster.ts";
import { hasRedis } from "./support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const ask = ({ client }: OwnNode, messages: Messages) =>
  client.chat.completions
    .create({ model: "gpt-5.5", messages, tools: TOOLS })
    .then(({ choices }) => choices[0]?.message ?? expect.unreachable());

describe.skipIf(!hasRedis)("hub tools of a cluster", () => {
  it("are called for each of two equal questions that reach two gateways at the same time", async () => {
    const { open } = await openHubCluster(defer);
    const nodes = [await open("a"), await open("b")];
    const question: Messages = [
      { role: "user", content: '@sim call srv__slow {} ;; call srv__echo {"a":1} ;; say {{result.0}} {{result.1}}' },
    ];
    for (let round = 1; round <= 3; round++) {
      const answers = await Promise.all(nodes.map((node) => ask(node, question)));
      expect(answers.map(({ content }) => content)).toEqual(['done {"a":1}', 'done {"a":1}']);
      for (const node of nodes) await expect.poll(() => hubCallsOf(node)).toBe(2 * round);
    }
  }, 60_000);
});
