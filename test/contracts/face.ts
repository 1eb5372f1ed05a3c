import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { createFaceContext } from "../../src/app/face-context.ts";
import { ERROR_KINDS, type ErrorKind, ExcursorError } from "../../src/core/errors.ts";
import type { TurnEvent } from "../../src/core/events.ts";
import { Secret } from "../../src/core/secret.ts";
import type { JsonObject } from "../../src/core/turn.ts";
import type { ParsedRequest, StreamRenderer } from "../../src/faces/shared/face.ts";
import type { FaceModule } from "../../src/faces/shared/face-module.ts";
import { createRouter } from "../../src/server/routes/route.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { done, text, thinking, usage } from "../core/support/turns.ts";
import { ControlledEngine } from "../server/support/controlled-engine.ts";
import { DEFAULT_LIMITS } from "../support/default-limits.ts";

/** What {@link describeFace} has to know of a face: how to ask in its dialect, and how to read its answers. */
export interface FaceFixture {
  readonly module: FaceModule;
  /** A request that asks {@link PROMPT} and offers the tool `look`, if the dialect has tools. */
  request(isStream: boolean): AskedRequest;
  /** A request that is not valid, and the field that says so. */
  readonly wrong: AskedRequest & { readonly field: string };
  /** Reads a stream, possibly cut short. Throws where it is not what a client of the dialect accepts. */
  readStream(stream: Buffer): Said;
  readWhole(body: JsonObject): Said;
  /** Returns the message of an error body. */
  readError(body: JsonObject): string;
  /** Whether the dialect shows no tool calls. */
  readonly lacksCalls?: boolean;
}

interface AskedRequest {
  /** Path and query. */
  readonly url: string;
  readonly body: unknown;
}

/** An answer as a client reads it. */
export interface Said {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly { readonly name: string; readonly args: unknown }[];
  readonly usage: { readonly input: number; readonly output: number } | undefined;
  /** Whether the answer has come to its proper end. */
  readonly isEnded: boolean;
  readonly error: string | undefined;
}

export const PROMPT = "hello";

const BEGINNING: readonly TurnEvent[] = [
  thinking("hm, "),
  thinking("well"),
  { type: "thinking-done", durationMs: 5 },
  text("he"),
  text("llo"),
];
const EVENTS: readonly TurnEvent[] = [
  ...BEGINNING,
  { type: "tool-call", id: "c1", name: "look", args: { at: 1 } },
  usage({ inputTokens: 10, outputTokens: 5 }),
  done("tool-calls"),
];
const SECRET = "a cause that is nobody's business";

/** What {@link describeLoopFace} has to know of a face that runs the model's tools itself, in the agent loop. */
export interface LoopFaceFixture {
  /** Has the engine answer {@link PROMPT} with these batches, and then fail if there is an error. */
  answer(batches: readonly (readonly TurnEvent[])[], error?: ExcursorError): Promise<Said>;
  /** Returns everything that the client is sent for an error. */
  error(error: ExcursorError): string;
  /** Whether the protocol shows no usage. */
  readonly lacksUsage?: boolean;
}

/**
 * The part of {@link describeFace} that holds for a face without routes. Its protocol has neither whole answers nor
 * statuses, and the loop keeps tool calls inside.
 */
export function describeLoopFace(name: string, { answer, error, lacksUsage = false }: LoopFaceFixture): void {
  const events: readonly TurnEvent[] = [...BEGINNING, usage({ inputTokens: 10, outputTokens: 5 }), done()];
  describe(name, () => {
    describeStream(answer, events, {
      text: "hello",
      thinking: "hm, well",
      calls: [],
      usage: lacksUsage ? undefined : { input: 10, output: 5 },
      isEnded: true,
      error: undefined,
    });

    it.each(KINDS)("has words for %s", (kind) => {
      const said = error(new ExcursorError(kind, "It did not work.", { cause: new Error(SECRET) }));
      expect(said).toContain("It did not work.");
      expect(said).not.toContain(SECRET);
    });
  });
}

const KINDS = Object.keys(ERROR_KINDS) as ErrorKind[];

/** A streamed answer, as every face has it. */
function describeStream(answer: LoopFaceFixture["answer"], events: readonly TurnEvent[], expected: Said): void {
  it("streams everything that its clients show, however the events are batched", async () => {
    expect(await answer([events])).toEqual(expected);
    expect(await answer(events.map((event) => [event]))).toEqual(expected);
  });

  it("ends a stream that fails with its error and without a sign of success", async () => {
    const error = new ExcursorError("upstream-failed", "The upstream failed.", { cause: new Error(SECRET) });
    const said = await answer([BEGINNING], error);
    expect(said).toMatchObject({ text: "hello", isEnded: false });
    expect(said.error).toContain("The upstream failed.");
    expect(said.error).not.toContain(SECRET);
  });
}

/** Checks what the server and clients rely on in every face. */
export function describeFace(name: string, fixture: FaceFixture): void {
  const { module, lacksCalls = false } = fixture;
  const expected: Said = {
    text: "hello",
    thinking: "hm, well",
    calls: lacksCalls ? [] : [{ name: "look", args: { at: 1 } }],
    usage: { input: 10, output: 5 },
    isEnded: true,
    error: undefined,
  };

  const parse = async (request: AskedRequest): Promise<ParsedRequest<StreamRenderer>> => {
    const context = createFaceContext({
      engine: new ControlledEngine([]),
      images: { load: () => Promise.reject(new Error("There are no images.")) },
      log: { info: () => {}, warn: () => {}, error: () => {} },
      state: await openStateDatabase(":memory:"),
      sealSecret: new Secret("the secret of the tests"),
      limits: DEFAULT_LIMITS,
    });
    const { pathname, searchParams } = new URL(request.url, "http://gateway");
    const turns = module.routes(context).filter((one) => one.type === "turn");
    const findRoute = createRouter(turns.map(({ path }) => ({ method: "POST", path, face: module, handle: () => {} })));
    const match = findRoute({ method: "POST", url: pathname, headers: {} } as IncomingMessage);
    const route = match.type === "found" && turns.find(({ path }) => path === match.route.path);
    if (!route) throw new Error(`${module.name} has no route for turns at ${pathname}.`);
    return route.face.parse(request.body, {
      principal: { id: "p", token: undefined },
      requestId: "r1",
      images: context.images,
      path: match.parameters,
      query: searchParams,
      header: () => undefined,
    });
  };
  const streamed = async (batches: readonly (readonly TurnEvent[])[], error?: ExcursorError): Promise<Said> => {
    const renderer = (await parse(fixture.request(true))).stream();
    const pieces = batches.map((events) => renderer.step(events));
    return fixture.readStream(Buffer.concat([...pieces, ...(error ? [renderer.fail(error, "r1")] : [])].map(bytesOf)));
  };

  describe(name, () => {
    it.each([true, false])("reads a request as a turn (streamed: %s)", async (isStream) => {
      const { turn, isStream: isAskedStream } = await parse(fixture.request(isStream));
      expect(isAskedStream).toBe(isStream);
      expect(turn.principal.id).toBe("p");
      expect(turn.model.id).not.toBe("");
      expect(turn.messages.at(-1)).toMatchObject({ role: "user", content: [{ type: "text", text: PROMPT }] });
    });

    it("refuses a request that is not valid, and names the field", async () => {
      const refusal = await parse(fixture.wrong).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(ExcursorError);
      expect(refusal).toMatchObject({ kind: "invalid-request", field: fixture.wrong.field });
    });

    describeStream(streamed, EVENTS, expected);

    it("says the same in a whole answer", async () => {
      const collector = (await parse(fixture.request(false))).collect();
      for (const event of EVENTS) collector.step([event]);
      expect(fixture.readWhole(collector.body())).toEqual(expected);
    });

    it("has ended a stream with `done`, and not before", async () => {
      const isEnded = await streamed([EVENTS.slice(0, -1)]).then(
        (said) => said.isEnded,
        () => false,
      );
      expect(isEnded).toBe(false);
    });

    it.each(KINDS)("has a status and words for %s", (kind) => {
      const error = new ExcursorError(kind, "It did not work.", { cause: new Error(SECRET) });
      const { status, headers, body } = module.error(error, "r1");
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(600);
      expect(status, "the official SDKs retry it").not.toBe(409);
      expect(fixture.readError(body)).toContain("It did not work.");
      expect(JSON.stringify([headers, body])).not.toContain(SECRET);
    });
  });
}

const bytesOf = (piece: string | Uint8Array): Uint8Array => (typeof piece === "string" ? Buffer.from(piece) : piece);
