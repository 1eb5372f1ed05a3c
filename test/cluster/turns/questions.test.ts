import { afterEach, expect, it } from "vitest";
import { ClusterKeys } from "../../../src/cluster/internal/cluster-keys.ts";
import { InternalClient } from "../../../src/cluster/internal/internal-client.ts";
import { listenInternally } from "../../../src/cluster/internal/internal-listener.ts";
import { forwardTurn } from "../../../src/cluster/turns/forward-turn.ts";
import { serveTurns } from "../../../src/cluster/turns/serve-turn.ts";
import { questionIn } from "../../../src/cluster/turns/turn-message.ts";
import type { Engine } from "../../../src/core/engine/engine.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createLog } from "../../../src/observe/log.ts";
import { createRedactor } from "../../../src/observe/redactor.ts";
import { aTurn, done, text } from "../../core/support/turns.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

it("a question of an agent on its home node is answered by the user of the gateway that was asked", async () => {
  const run: Engine["run"] = async function* () {
    const chosen = Promise.withResolvers<string | undefined>();
    const question = { type: "question", id: "q1", title: "May I?", options: [], detail: {} } as const;
    yield [{ type: "activity", activity: { ...question, answer: chosen.resolve } }];
    yield [text(`chosen: ${await chosen.promise}`), done()];
  };
  const watch = () => ({
    meter: { opens: () => expect.unreachable(), goesOn: () => {}, used: () => {} },
    observer: { phase: () => {} },
    end: () => {},
  });
  const turn = serveTurns({
    engine: { run } as Partial<Engine> as Engine,
    watch,
    onServed: () => {},
    tellLate: () => expect.unreachable(),
  });
  const keys = new ClusterKeys(new Secret("the secret of the cluster, long enough"));
  const log = createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false });
  const now = () => 0;
  const options = { host: "127.0.0.1", port: 0, keys, tag: "tag1", now, log, handlers: { turn } };
  const listener = await listenInternally(options);
  const client = new InternalClient(keys, now);
  cleanups.push(
    () => listener.close(),
    () => client.close(),
  );
  const home = { tag: "tag1", advertise: `http://127.0.0.1:${listener.port}` };
  const context = { requestId: "r", signal: new AbortController().signal };
  const said: string[] = [];
  for await (const events of forwardTurn(client, home, aTurn({ showsActivity: true }), context)) {
    for (const event of events) {
      questionIn(event)?.answer("yes");
      if (event.type === "text") said.push(event.text);
    }
  }
  expect(said).toEqual(["chosen: yes"]);
});
