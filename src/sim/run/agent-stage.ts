import { randomUUID } from "node:crypto";
import { create, fromJson, type JsonObject, toBinary, toJson } from "@bufbuild/protobuf";
import { awaitedLater } from "../../core/ignored-failures.ts";
import type { ConversationStateStructure } from "../../gen/agent/v1/conversation_pb.ts";
import { type ExecServerMessage, ExecServerMessageSchema } from "../../gen/agent/v1/exec_pb.ts";
import { InteractionQuerySchema, InteractionResponseSchema } from "../../gen/agent/v1/query_pb.ts";
import { AgentServerMessageSchema } from "../../gen/agent/v1/run_pb.ts";
import type { ToolCall } from "../../gen/agent/v1/tool_call_pb.ts";
import type { ClientRequests } from "../../wire/agent/client-requests.ts";
import { encodeDelta } from "../../wire/agent/delta.ts";
import { begunCall } from "../../wire/agent/exec/begun-call.ts";
import { type ExecReply, readExecReply } from "../../wire/agent/exec/exec-result.ts";
import { mcpArgs, mcpDisplay } from "../../wire/agent/exec/mcp-call.ts";
import type { OfferedTools } from "../../wire/agent/exec/offered-tools.ts";
import { withMember } from "../../wire/agent/member.ts";
import type { ServerMessage, Update } from "../../wire/agent/messages.ts";
import { blobIdOf, hexId } from "../../wire/agent/state/blobs.ts";
import type { Transcript } from "../../wire/agent/state/transcript.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import { inject, noOddities } from "../faults.ts";
import type { Received } from "../script/placeholders.ts";
import type { AskStep, CallStep, ExecStep, Stage } from "../script/play.ts";
import type { FaultStep, TurnTokens } from "../script/step.ts";
import { type ClientStream, StreamGone } from "./client-stream.ts";
import { withMarker } from "./marker.ts";
import { scriptedDisplay, scriptedEdit, scriptedRequest } from "./native.ts";
import { resultText } from "./result-text.ts";
import type { RunTrace } from "./run-trace.ts";

export interface AgentStageParts {
  readonly clientStream: ClientStream;
  readonly client: ClientRequests;
  readonly transcript: Transcript;
  readonly tools: OfferedTools;
  readonly trace: RunTrace;
  /** Values that the script may quote. The stage itself knows `reused`. */
  readonly received: Omit<Received, "reused">;
  readonly startedFrom: "checkpoint" | "fresh";
  readonly turnStart: number;
  readonly inputTokens: number;
  readonly maxTokens: number;
  /** Charges the account for the turn. */
  readonly charge: (tokens: TurnTokens) => void;
}

/** How many deltas are sent between two token counts. */
const TOKENS_PER_UPDATE = 16;
const LATE_CHECKPOINT_MS = 1000;

/** One call of a batch, to a client tool or native. */
interface Request {
  readonly callId: string;
  readonly name: string;
  readonly args: JsonObject;
  ask(): Promise<ExecReply>;
  display(answer?: ExecReply): ToolCall;
}

/** Plays a turn in `agent.v1`: updates, execs, blobs, checkpoints. */
export class AgentStage implements Stage {
  readonly received: Received;
  readonly #parts: AgentStageParts;
  readonly #oddities = noOddities();
  readonly #stored = new Map<string, Promise<void>>();
  #outputTokens = 0;
  #untoldTokens = 0;
  #reasoningTokens = 0;
  #steps = 0n;
  #stepStart = performance.now();
  #hasGoneOn = false;
  #stepsDone = 0;
  #isSettled = false;

  constructor(parts: AgentStageParts) {
    this.#parts = parts;
    const reused = () => (this.#hasGoneOn ? "stream" : parts.startedFrom);
    this.received = Object.defineProperty(parts.received as Received, "reused", { get: reused });
    this.#update({ case: "stepStarted", value: { stepId: this.#steps } });
  }

  offers(tool: string): boolean {
    return this.#parts.tools.find(tool) !== undefined;
  }

  text(delta: string): Promise<void> | undefined {
    this.#parts.transcript.addText(delta);
    return this.#delta("text", delta);
  }

  thinking(delta: string): Promise<void> | undefined {
    this.#parts.transcript.addThinking(delta);
    this.#reasoningTokens++;
    return this.#delta("thinking", delta);
  }

  thinkingCompleted(durationMs: number): void {
    this.#parts.transcript.endThinking(durationMs);
    this.#update({ case: "thinkingCompleted", value: { thinkingDurationMs: durationMs } });
  }

  call(batch: readonly CallStep[]): Promise<readonly string[]> {
    const { client } = this.#parts;
    return this.#request(
      batch.map(({ name, args }) => {
        const tool = this.#parts.tools.find(name);
        if (!tool) throw new ConnectFailure("internal", `The tool ${name} was not offered.`);
        const callId = newCallId();
        const asked = mcpArgs(tool, args, callId);
        const exec = create(ExecServerMessageSchema, { message: { case: "mcpArgs", value: asked } });
        const display = (answer?: ExecReply) => {
          const result = answer?.messages.at(-1)?.message;
          return mcpDisplay(asked, result?.case === "mcpResult" ? result.value.result : undefined, answer?.error);
        };
        return { callId, name: tool.toolName || tool.name, args, ask: () => client.exec(exec), display };
      }),
    );
  }

  exec(batch: readonly ExecStep[]): Promise<readonly string[]> {
    const exec = (request: ExecServerMessage) => this.#parts.client.exec(request);
    return this.#request(
      batch.map(({ exec: kind, args }) => {
        const callId = newCallId();
        const display = scriptedDisplay(kind, args, callId);
        const name = typeof kind === "number" ? `#${kind}` : kind;
        const request = kind === "edit" ? undefined : scriptedRequest(kind, args, callId);
        const ask = () => (request ? exec(request) : scriptedEdit(args, callId, exec));
        return { callId, name, args, ask, display: () => display };
      }),
    );
  }

  async ask({ query }: AskStep): Promise<string> {
    const request =
      typeof query === "number"
        ? withMember(InteractionQuerySchema, query)
        : fromJson(InteractionQuerySchema, query, { ignoreUnknownFields: true });
    const response = await this.#parts.client.query(request);
    if (!response) return "";
    const { result } = response;
    // Most replies are approved or rejected with a reason; others are quoted completely.
    const outcome = result.value && "result" in result.value ? result.value.result : undefined;
    if (outcome && "case" in outcome && outcome.case === "approved") return "approved";
    if (outcome && "case" in outcome && outcome.case === "rejected") return `rejected: ${outcome.value.reason}`;
    return JSON.stringify(toJson(InteractionResponseSchema, response));
  }

  async fault(step: FaultStep): Promise<void> {
    const { clientStream, client } = this.#parts;
    const outcome = await inject(step, clientStream.out, this.#oddities);
    this.#parts.trace.note("fault", step.fault);
    client.repeatsNext ||= this.#oddities.repeatsNextRequest;
    this.#oddities.repeatsNextRequest = false;
    // The backend does not charge for its own failures.
    if (outcome !== "goes-on") this.#isSettled = true;
    if (outcome === "gone") throw new StreamGone();
    if (outcome === "hangs") await clientStream.hang();
  }

  sleep(ms: number): Promise<void> {
    return this.#parts.clientStream.sleep(ms);
  }

  skip(reason: string): void {
    this.#parts.trace.note("skip", reason);
  }

  async checkpoint(stepsDone: number): Promise<void> {
    this.#tellTokens();
    this.#stepsDone = stepsDone;
    this.#send({ case: "conversationCheckpointUpdate", value: await this.#state(stepsDone, false) });
  }

  /** Sends what a client sees of a compaction. */
  summarize(summary: string): void {
    this.#update({ case: "summaryStarted", value: {} });
    this.#update({ case: "summary", value: { summary } });
    this.#update({ case: "summaryCompleted", value: {} });
  }

  /** Ends a turn normally: `turn_ended`, the last checkpoint, the end frame. */
  async finish(stepsDone: number, usage: TurnTokens | undefined): Promise<void> {
    const { clientStream } = this.#parts;
    const { hasNoUsage, hasLateCheckpoint, hasNoSettled, keepsOpen, lastFailure } = this.#oddities;
    this.#tellTokens();
    const staged = await this.#state(this.#stepsDone, false, "staged");
    const state = await this.#state(stepsDone, true);
    this.#endStep();
    this.charge(usage);
    this.#update({ case: "turnEnded", value: hasNoUsage ? {} : this.#usage(usage) });
    this.#sendStaged(staged);
    if (hasLateCheckpoint) await clientStream.sleep(LATE_CHECKPOINT_MS);
    // The real backend repeats the last one.
    for (let sent = 0; sent < 2 && !hasNoSettled; sent++)
      this.#send({ case: "conversationCheckpointUpdate", value: { ...state, pendingToolCalls: [] } });
    if (keepsOpen) await Promise.race([clientStream.untilGone(), clientStream.out.exchange.halfClosed()]);
    clientStream.out.end(lastFailure);
  }

  /** Charges the account for the turn, once: by what the script says, else by what was sent. */
  charge(usage?: TurnTokens): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { input = this.#parts.inputTokens, output = this.#outputTokens, cached = 0, written = 0 } = usage ?? {};
    this.#parts.charge({ input, output, cached, written });
  }

  async #request(requests: readonly Request[]): Promise<readonly string[]> {
    const { transcript, clientStream } = this.#parts;
    this.#tellTokens();
    transcript.addCalls(
      requests.map(({ callId: id, name, args, display }) => ({ id, name, args, display: display() })),
    );
    for (const { callId, args, display } of requests) this.#announce(callId, args, display());
    this.#update({ case: "toolRequestsListed", value: { callCount: requests.length } });
    const intervalMs = this.#oddities.callIntervalMs;
    this.#oddities.callIntervalMs = 0;
    const pending: Promise<ExecReply>[] = [];
    for (const { ask } of requests) {
      if (pending.length > 0) await clientStream.sleep(intervalMs);
      pending.push(awaitedLater(ask()));
    }
    if (this.#oddities.endsAfterCalls) {
      this.#isSettled = true;
      clientStream.endUnanswered(Promise.all(pending));
    }
    this.#sendStaged(await this.#state(this.#stepsDone, false, "staged"));
    const answers = await Promise.all(pending);
    this.#hasGoneOn = true;
    const texts = answers.map((answer, index) => {
      const { content, isError } = readExecReply(answer);
      const text = resultText(content);
      const request = requests[index];
      if (!request) return text;
      const toolCall = request.display(answer);
      transcript.endCall(request.callId, toolCall, { content: [{ type: "text", text }], isError });
      const modelCallId = modelCallIdOf(request.callId);
      this.#update({ case: "toolCallCompleted", value: { callId: request.callId, toolCall, modelCallId } });
      return text;
    });
    this.#endStep();
    this.#update({ case: "stepStarted", value: { stepId: this.#steps } });
    return texts;
  }

  /** Sends the state before the calls or the text that came last. From there the real backend makes the calls again. */
  #sendStaged(value: ConversationStateStructure): void {
    if (value.pendingToolCalls.length > 0) this.#send({ case: "conversationCheckpointUpdate", value });
  }

  /** Announces a call with growing arguments. Each update has them from the beginning. */
  #announce(callId: string, args: JsonObject, toolCall: ToolCall): void {
    const modelCallId = modelCallIdOf(callId);
    this.#update({ case: "toolCallStarted", value: { callId, toolCall, modelCallId } });
    const json = JSON.stringify(args);
    this.#update({
      case: "partialToolCall",
      value: { callId, toolCall: begunCall(toolCall), argsTextDelta: "", modelCallId },
    });
    for (const length of new Set([Math.ceil(json.length / 2), json.length])) {
      const argsTextDelta = json.slice(0, length);
      this.#update({ case: "partialToolCall", value: { callId, toolCall, argsTextDelta, modelCallId } });
    }
  }

  #endStep(): void {
    const stepDurationMs = BigInt(Math.round(performance.now() - this.#stepStart));
    this.#update({ case: "stepCompleted", value: { stepId: this.#steps, stepDurationMs } });
    this.#steps++;
    this.#stepStart = performance.now();
  }

  #delta(kind: "text" | "thinking", delta: string): Promise<void> | undefined {
    const { clientStream, trace } = this.#parts;
    if (trace.isOn) trace.note(`${kind}_delta`, { text: delta }, "out");
    const full = clientStream.write(encodeDelta({ kind, text: delta }));
    this.#outputTokens++;
    if (++this.#untoldTokens >= TOKENS_PER_UPDATE) this.#tellTokens();
    return full;
  }

  #tellTokens(): void {
    if (this.#untoldTokens > 0) this.#update({ case: "tokenDelta", value: { tokens: this.#untoldTokens } });
    this.#untoldTokens = 0;
  }

  #usage(asked: TurnTokens | undefined) {
    return {
      inputTokens: BigInt(asked?.input ?? this.#parts.inputTokens),
      outputTokens: BigInt(asked?.output ?? this.#outputTokens),
      cacheReadTokens: BigInt(asked?.cached ?? 0),
      cacheWriteTokens: BigInt(asked?.written ?? 0),
      reasoningTokens: BigInt(asked ? Math.min(asked.output, this.#reasoningTokens) : this.#reasoningTokens),
    };
  }

  /** Returns the next checkpoint, after the client has stored all its blobs. */
  async #state(
    stepsDone: number,
    isDone: boolean,
    kind: "state" | "staged" = "state",
  ): Promise<ConversationStateStructure> {
    const { transcript, turnStart, inputTokens, maxTokens } = this.#parts;
    const tokens = { used: inputTokens + this.#outputTokens, max: maxTokens };
    const stores: Promise<void>[] = [];
    const state = transcript[kind](tokens, (bytes) => {
      const id = blobIdOf(bytes);
      stores.push(this.#store(id, bytes));
      return id;
    });
    await Promise.all(stores);
    return withMarker(state, { stepsDone, turnStart: isDone ? undefined : turnStart });
  }

  /** Sends each blob once, because checkpoints share most of them. */
  #store(id: Uint8Array, bytes: Uint8Array): Promise<void> {
    const stored = this.#stored.get(hexId(id)) ?? this.#parts.client.setBlob(id, bytes);
    this.#stored.set(hexId(id), stored);
    return stored;
  }

  #update(message: Update): void {
    this.#send({ case: "interactionUpdate", value: { message } });
  }

  #send(message: ServerMessage): void {
    const frame = create(AgentServerMessageSchema, { message });
    this.#parts.trace.sent(frame);
    void this.#parts.clientStream.write(toBinary(AgentServerMessageSchema, frame));
  }
}

/** Ids of OpenAI's models have this form: two ids, and a newline between them. */
const newCallId = (): string => `call_${randomUUID()}\nfc_${randomUUID().replaceAll("-", "")}_0`;

const modelCallIdOf = (callId: string): string => `model_${callId}`;
