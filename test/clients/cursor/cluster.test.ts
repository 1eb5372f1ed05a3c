import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { hasBalancer } from "../../cluster/support/compose-processes.ts";
import { ACCOUNT, type CursorCluster, startCursorCluster } from "../../cluster/support/cursor-cluster.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { SdkProcess } from "../support/sdk-process.ts";

const cleanups: (() => unknown)[] = [];
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "excursor-cluster-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const OWN = { id: "excursor/demo/composer-2.5" };

/** Messages of runs that reached the backend. The fourth gateway asks it, too, under ids of its own. */
const clientRuns = ({ trace }: CursorCluster, hostConfig: "h1" | "h2") =>
  trace.filter(({ kind, transport }) => kind === "run_request" && transport === hostConfig);

describe.skipIf(!hasBalancer).each(["h1", "h2"] as const)(
  "the official client through a balancer, over %s",
  (hostConfig) => {
    it("uses models of ours with their tools, those of the account, and a key, whichever gateway gets which call", async () => {
      const cluster = await startCursorCluster(defer, { hostConfig });
      for (const apiKey of [ACCOUNT, KEY]) {
        await using sdk = new SdkProcess({ url: cluster.url, home: makeFolder(), apiKey });
        const cwd = makeFolder();
        const local = { cwd, enableAgentRetries: false };
        const say = async (agent: string, script: string) => {
          const { status, text, error } = await sdk.send(agent, `@sim ${script}`);
          expect([status, error]).toEqual(["finished", undefined]);
          return text;
        };
        await sdk.create("own", { model: OWN, local });
        const two = 'call look {"at":"x"} ;; call slow {"ms":300,"text":"y"} ;; say {{result.0}} {{result.1}}';
        expect(await say("own", two)).toBe('looked at {"at":"x"} y');
        expect(await say("own", 'call shell {"command":"echo made > made.txt"} ;; say done')).toBe("done");
        expect(readFileSync(join(cwd, "made.txt"), "utf8")).toBe("made\n");
        expect(await say("own", "tokens 400 0 ;; say {{history}}")).toContain("made.txt");
        if (apiKey === KEY) continue;
        const before = clientRuns(cluster, hostConfig).length;
        await sdk.create("account", { local });
        expect(await say("account", 'call look {"at":"z"} ;; say {{result}}')).toBe('looked at {"at":"z"}');
        expect(await say("account", "tokens 400 0 ;; say {{reused}}")).toContain("checkpoint");
        expect(clientRuns(cluster, hostConfig).length - before).toBe(2);
      }
      expect(cluster.trace.filter(({ kind }) => kind === "violation")).toEqual([]);
    });

    it("goes on at another gateway when that of its run is killed, and executes nothing twice", async () => {
      const { url, nodes } = await startCursorCluster(defer, { hostConfig });
      await using sdk = new SdkProcess({ url, home: makeFolder(), apiKey: ACCOUNT });
      const cwd = makeFolder();
      await sdk.create("a", { model: OWN, local: { cwd, enableAgentRetries: true } });
      const steps = Array.from(
        { length: 8 },
        (_, step) => `call shell {"command":"echo ${step} >> effects; sleep 1"} ;; wait`,
      );
      const effects = () => {
        const path = join(cwd, "effects");
        return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
      };
      const running = sdk.send("a", `@sim ${steps.join(" ;; ")} ;; say done`);
      // One of them has the run. All are killed, one after the other.
      for (const [at, node] of nodes.entries()) {
        await expect.poll(() => effects().length, { timeout: 60_000 }).toBeGreaterThan(2 * at);
        await node.stop("SIGKILL");
        await node.restart();
      }
      const { status, text, error } = await running;
      expect([status, text, error]).toEqual(["finished", expect.stringContaining("done"), undefined]);
      const done = effects();
      expect(done).toEqual([...new Set(done)]);
    });
  },
);
