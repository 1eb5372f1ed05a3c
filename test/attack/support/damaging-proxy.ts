import { createServer, request as httpRequest, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What happens to the bytes of one answer: at an offset, counted over the whole of it. */
export interface Damage {
  readonly kind: "flip" | "drop" | "repeat" | "insert" | "end" | "reset";
  readonly offset: number;
  readonly value: number;
}

export interface DamagingProxy {
  readonly url: string;
  /** Damages the answers of runs from now on. */
  damage(damages: readonly Damage[]): void;
  /** Resolves when no exchange is under way any more. */
  idle(): Promise<void>;
}

const RUN = /\/(?:RunSSE|Run)$/;

/** Stands between the gateway and a backend over HTTP/1.1, and damages what the backend says in runs. */
export async function startDamagingProxy(backend: string): Promise<DamagingProxy> {
  const open = new Set<ServerResponse>();
  let onIdle = () => {};
  let damages: readonly Damage[] = [];
  const server = createServer((incoming, response) => {
    open.add(response);
    const forward = httpRequest(new URL(incoming.url ?? "/", backend), {
      method: incoming.method,
      headers: incoming.headers,
    });
    response
      .on("error", () => {})
      .on("close", () => {
        forward.destroy();
        open.delete(response);
        if (open.size === 0) onIdle();
      });
    forward.on("error", () => response.destroy());
    forward.on("response", (answer) => {
      const isRun = RUN.test(incoming.url ?? "");
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      let offset = 0;
      answer.on("data", (chunk: Buffer) => {
        const hits = isRun ? damages.filter((hit) => hit.offset >= offset && hit.offset < offset + chunk.length) : [];
        const start = offset;
        offset += chunk.length;
        if (response.destroyed) return;
        response.write(hits.reduce((bytes, hit) => apply(bytes, { ...hit, offset: hit.offset - start }), chunk));
        const last = hits.find(({ kind }) => kind === "end" || kind === "reset");
        if (last?.kind === "end") response.end();
        if (last?.kind === "reset") response.socket?.resetAndDestroy();
      });
      answer.on("end", () => response.end()).on("error", () => response.destroy());
    });
    incoming.pipe(forward);
  });
  onTestFinished(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    damage(given) {
      damages = given;
    },
    idle: () =>
      new Promise((resolve) => {
        onIdle = resolve;
        if (open.size === 0) resolve();
      }),
  };
}

function apply(bytes: Buffer, { kind, offset, value }: Damage): Buffer {
  const [before, after] = [bytes.subarray(0, offset), bytes.subarray(offset)];
  switch (kind) {
    case "flip":
      return Buffer.concat([before, Buffer.of((after[0] ?? 0) ^ (value & 0xff || 1)), after.subarray(1)]);
    case "drop":
      return Buffer.concat([before, after.subarray(1 + (value % 16))]);
    case "repeat":
      return Buffer.concat([before, after.subarray(0, 1 + (value % 16)), after]);
    case "insert":
      return Buffer.concat([before, Buffer.alloc(1 + (value % 16), value & 0xff), after]);
    case "end":
    case "reset":
      return before;
    default:
      return kind satisfies never;
  }
}
