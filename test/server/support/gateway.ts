import { onTestFinished } from "vitest";
import { createFaceContext } from "../../../src/app/face-context.ts";
import { FACES } from "../../../src/app/faces.ts";
import type { Limits } from "../../../src/config/limits.ts";
import type { ModelInfo } from "../../../src/core/driver.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import { Secret } from "../../../src/core/secret.ts";
import type { ImageLoader } from "../../../src/faces/shared/face.ts";
import { createLog } from "../../../src/observe/log.ts";
import { createRedactor } from "../../../src/observe/redactor.ts";
import { Admission, type AdmissionOptions } from "../../../src/server/gate/admission.ts";
import { startGateway } from "../../../src/server/gateway.ts";
import type { Gateway, GatewayOptions } from "../../../src/server/gateway-options.ts";
import { openStateDatabase } from "../../../src/state/state-database.ts";
import { DEFAULT_LIMITS } from "../../support/default-limits.ts";
import { ControlledEngine } from "./controlled-engine.ts";

export const KEY = "exc_test-key-of-the-gateway-0123456789";

const MODEL: ModelInfo = {
  id: "some-model",
  displayName: "Some Model",
  aliases: ["vendor/some model"],
  contextTokens: 200_000,
  supportsImages: true,
  isThinking: true,
  efforts: ["low", "high"],
};

export interface TestGateway extends Gateway {
  readonly engine: ControlledEngine;
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** Resolves with the line about a request, once it is there. */
  logged(requestId: string): Promise<Readonly<Record<string, unknown>>>;
}

export async function startTestGateway({
  streamsOf,
  requestsPerMinuteOf,
  verifyToken,
  ...options
}: Partial<Omit<GatewayOptions, "limits"> & Omit<AdmissionOptions, "limits">> & {
  readonly limits?: Partial<Limits>;
} = {}): Promise<TestGateway> {
  const engine = new ControlledEngine([MODEL]);
  const redactor = createRedactor();
  redactor.add(KEY);
  const log: Record<string, unknown>[] = [];
  const waiting = new Map<string, (line: Record<string, unknown>) => void>();
  const write = (text: string) => {
    for (const json of text.trim().split("\n")) {
      const line = JSON.parse(json) as Record<string, unknown>;
      log.push(line);
      if (line["msg"] === "request") waiting.get(String(line["requestId"]))?.(line);
    }
  };
  const images: ImageLoader = { load: () => Promise.reject(new ExcursorError("unsupported", "No images here.")) };
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const logger = createLog({ level: "debug", redactor, write, isPretty: false });
  const gateway = await startGateway({
    host: "127.0.0.1",
    port: 0,
    key: new Secret(KEY),
    allowsTokens: true,
    hosts: [],
    origins: [],
    engine,
    faces: FACES.gateway,
    faceContext: createFaceContext({
      engine,
      images,
      log: logger,
      state: await openStateDatabase(":memory:"),
      sealSecret: new Secret("the secret of the tests"),
      limits,
    }),
    redactor,
    log: logger,
    admission: new Admission({
      limits,
      streamsOf: streamsOf ?? ((id) => options.issued?.keys.withId(id)?.limits.streams),
      requestsPerMinuteOf,
      verifyToken,
    }),
    ...options,
    limits,
  });
  onTestFinished(() => gateway.close(0));
  const logged = (requestId: string) =>
    new Promise<Record<string, unknown>>((resolve) => {
      const line = log.find((entry) => entry["msg"] === "request" && entry["requestId"] === requestId);
      if (line) resolve(line);
      else waiting.set(requestId, resolve);
    });
  return { ...gateway, engine, log, logged };
}

export const chatBody = (extra: object = {}): string =>
  JSON.stringify({ model: "some-model", messages: [{ role: "user", content: "hello" }], ...extra });

export function postChat(gateway: Gateway, extra: object = {}, init: RequestInit = {}): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    body: chatBody(extra),
    ...init,
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json", ...init.headers },
  });
}
