import { describe, expect, it, vi } from "vitest";
import type { InternalClient } from "../../../src/cluster/internal/internal-client.ts";
import type { InternalExchange } from "../../../src/cluster/internal/internal-exchange.ts";
import type { RedisLink } from "../../../src/cluster/redis/redis-link.ts";
import { ClusterRuns } from "../../../src/cluster/runs/cluster-runs.ts";
import { ForwardCounts } from "../../../src/cluster/turns/forward-counts.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { RunHome } from "../../../src/core/split-runs.ts";

/** What Redis replies to a script: nothing, after the fallback, or this value. */
type Reply = "away" | { readonly late: Promise<readonly Buffer[] | Buffer> } | readonly Buffer[] | null;

/** Gateways that reach each other in memory. `replies` has what Redis replies to each. */
function connect(replies: Readonly<Record<string, Reply>>) {
  const nodes = new Map<string, ClusterRuns>();
  const addresses = Object.keys(replies).map((tag) => ({ tag, advertise: `http://${tag}` }));
  const client = {
    async open({ tag }: { tag: string }, _name: string, message: unknown) {
      const answers: unknown[] = [];
      const exchange = {
        async *messages() {
          yield message;
        },
        send: async (answer: unknown) => void answers.push(answer),
      };
      await nodes.get(tag)?.handler(exchange as unknown as InternalExchange, new AbortController().signal);
      return { end() {}, messages: () => answers };
    },
  } as unknown as InternalClient;
  const counts = new Map<string, ForwardCounts>();
  const homes = new Map<string, { [Name in keyof RunHome]: ReturnType<typeof vi.fn> }>();
  for (const [tag, reply] of Object.entries(replies)) {
    const ask = async (work: (client: unknown) => Promise<unknown>, fallback: () => unknown) => {
      if (reply === "away") return fallback();
      const isLate = reply !== null && "late" in reply;
      const run = async () => (isLate ? reply.late : reply);
      const client = { withTypeMapping: () => ({ eval: run, evalSha: run }) };
      const worked = work(client);
      return isLate ? fallback() : worked;
    };
    const key = (...parts: string[]) => parts.join(":");
    const link = { key, ask, askBriefly: ask } as unknown as RedisLink;
    const known = {
      tag,
      nodes: () => addresses,
      find: async (wanted: string) => addresses.find((address) => address.tag === wanted),
    };
    const counted = new ForwardCounts();
    counts.set(tag, counted);
    const runs = new ClusterRuns(link, client, known, counted);
    const home = { take: vi.fn(async () => "taken"), passedOn: vi.fn(), moved: vi.fn() };
    runs.serve(home as unknown as RunHome);
    nodes.set(tag, runs);
    homes.set(tag, home);
  }
  const at = (tag: string) => nodes.get(tag) ?? expect.unreachable();
  const homeAt = (tag: string) => homes.get(tag) ?? expect.unreachable();
  return { at, homeAt, countsAt: (tag: string) => counts.get(tag)?.all };
}

const upload = { requestId: "r", seqno: 3n, payload: Buffer.from("hello"), authorization: "Bearer x" };

describe("runs whose requests reach different gateways", () => {
  it("tells a gateway that asked before the run was opened, also if it could not ask Redis (REL-45)", async () => {
    const { at, homeAt } = connect({ aaaa: [], bbbb: "away" });
    expect(await at("bbbb").find("r")).toBe(false);
    at("aaaa").opened("r")();
    await vi.waitFor(() => expect(homeAt("bbbb").moved).toHaveBeenCalledWith("r"));
    expect(at("bbbb").isElsewhere("r")).toBe(true);
  });

  it("takes a home that Redis names too late (REL-45)", async () => {
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    const { at, homeAt } = connect({ bbbb: { late: promise } });
    expect(await at("bbbb").find("r")).toBe(false);
    resolve(Buffer.from("aaaa"));
    await vi.waitFor(() => expect(homeAt("bbbb").moved).toHaveBeenCalledWith("r"));
    expect(at("bbbb").isElsewhere("r")).toBe(true);
  });

  it("tells all gateways if Redis does not say who asked", async () => {
    const { at, homeAt } = connect({ aaaa: "away", bbbb: null, cccc: null });
    expect(await at("bbbb").find("r")).toBe(false);
    at("aaaa").opened("r")();
    await vi.waitFor(() => expect(homeAt("bbbb").moved).toHaveBeenCalledWith("r"));
    await vi.waitFor(() => expect(at("cccc").isElsewhere("r")).toBe(true));
  });

  it("sends messages and errors as they are", async () => {
    const { at, homeAt } = connect({ aaaa: "away", bbbb: "away" });
    at("aaaa").opened("r")();
    expect(await at("bbbb").find("r")).toBe(true);
    expect(await at("bbbb").send(upload)).toBe("taken");
    expect(homeAt("aaaa").take).toHaveBeenCalledWith(upload);
    homeAt("aaaa").take.mockResolvedValueOnce("passed-on");
    expect(await at("bbbb").send(upload)).toBe("passed-on");
    homeAt("aaaa").take.mockRejectedValueOnce(new ExcursorError("forbidden", "Not yours."));
    await expect(at("bbbb").send(upload)).rejects.toMatchObject({ kind: "forbidden", message: "Not yours." });
    at("bbbb").tellPassedOn("r");
    await vi.waitFor(() => expect(homeAt("aaaa").passedOn).toHaveBeenCalledWith("r"));
  });

  it("counts messages where they arrive and where they are taken", async () => {
    const { at, homeAt, countsAt } = connect({ aaaa: "away", bbbb: "away" });
    at("aaaa").opened("r")();
    await at("bbbb").find("r");
    await at("bbbb").send(upload);
    homeAt("aaaa").take.mockRejectedValueOnce(new ExcursorError("forbidden", "Not yours."));
    await at("bbbb")
      .send(upload)
      .catch(() => {});
    expect(countsAt("bbbb")).toEqual({ forwarded: 1, gone: 0, failed: 1, served: 0 });
    expect(countsAt("aaaa")).toEqual({ forwarded: 0, gone: 0, failed: 0, served: 1 });
  });

  it("fails if the home of a run is gone", async () => {
    const { at, countsAt } = connect({ aaaa: null, bbbb: null });
    await expect(at("bbbb").send(upload)).rejects.toMatchObject({ code: "cluster_home_gone" });
    expect(countsAt("bbbb")).toMatchObject({ failed: 1 });
  });
});
