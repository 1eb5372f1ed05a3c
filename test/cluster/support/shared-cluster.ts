import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { expect } from "vitest";
import { openLink } from "../../contracts/nodes.ts";
import { type OwnNode, openOwnCluster } from "./own-cluster.ts";
import type { RedisProcess } from "./redis-process.ts";

type Defer = (cleanup: () => unknown) => void;

/** Gateways in one process that share a Redis. Each has a home folder of its own. */
export async function openSharedCluster(
  defer: Defer,
  names: readonly string[] = ["a", "b", "c"],
  environment: Readonly<Record<string, string>> = {},
) {
  const cluster = await openOwnCluster(defer, {}, environment);
  const nodes: (OwnNode & { readonly home: string })[] = [];
  for (const name of names) {
    const home = mkdtempSync(join(tmpdir(), "excursor-shared-"));
    defer(() => rmSync(home, { recursive: true, force: true }));
    nodes.push({ ...(await cluster.open(name, { EXCURSOR_HOME: home })), home });
  }
  const at = (index: number) => nodes[index % nodes.length] ?? expect.unreachable();
  return { ...cluster, nodes, at };
}

export const clientOf = ({ url }: OwnNode, apiKey: string): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });

export const statusOf = (work: Promise<unknown>): Promise<number | undefined> =>
  work.then(
    () => 200,
    (error: unknown) => (error instanceof OpenAI.APIError ? error.status : expect.unreachable(String(error))),
  );

/** Counts the keys of Redis that match. */
export async function keyCounter(redis: RedisProcess, defer: Defer) {
  const link = await openLink(redis, defer);
  return async (pattern: string): Promise<number> =>
    link.ask(
      async (client) => (await client.keys(link.key(pattern))).length,
      () => -1,
    );
}
