import { randomBytes } from "node:crypto";
import { ExcursorError } from "../../core/errors.ts";
import type { GatewayClient } from "../gateway-client.ts";
import { readEvents } from "../read-events.ts";
import { type Check, ok, skip } from "./check.ts";

export interface GatewayCheckOptions {
  readonly gateway: GatewayClient;
  /** Undefined: the first listed model that is no agent. */
  readonly model: string | undefined;
  /** The upstream is a simulator, which plays the script in the prompt. */
  readonly isScripted: boolean;
  readonly isQuick: boolean;
  /** True if an empty list of models is fine: some upstreams have none. */
  readonly mayListNone: boolean;
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[];
}

interface Listed {
  readonly id: string;
}

interface Call {
  readonly id: string;
  readonly type: string;
  readonly function: object;
}

interface Completion {
  readonly choices: readonly {
    readonly message: { readonly content: string | null; readonly tool_calls?: readonly Call[] };
  }[];
}

const NO_MODEL = skip("There is no model to ask, apart from agents.");

const PROBE = "excursor_probe";
const TIMEOUT_MS = 120_000;

/** Checks the whole path of a client's request. */
export function gatewayChecks(options: GatewayCheckOptions): readonly Check[] {
  const { gateway, isScripted, isQuick, mayListNone } = options;
  let { model } = options;
  const post = (body: object) =>
    gateway.call("/v1/chat/completions", { body: { model, ...body }, signal: AbortSignal.timeout(TIMEOUT_MS) });
  const models: Check = {
    id: "models",
    async look() {
      const { data } = (await (await gateway.call("/v1/models")).json()) as { readonly data: readonly Listed[] };
      if (data.length === 0 && mayListNone) return skip("No upstream lists its models.");
      if (data.length === 0) throw new ExcursorError("upstream-failed", "There are no models.");
      model ??= data.find(({ id }) => !id.startsWith("acp:"))?.id;
      return ok(data.length === 1 ? "1 model." : `${data.length} models.`);
    },
  };
  const stream: Check = {
    id: "stream",
    async look() {
      if (model === undefined) return NO_MODEL;
      const content = isScripted ? "@sim say one two three" : "Count from one to three in words.";
      const startedAt = performance.now();
      const response = await post({ stream: true, messages: [{ role: "user", content }] });
      let [pieces, firstMs] = [0, 0];
      for await (const event of readEvents(response)) {
        if (((event as Chunk).choices?.[0]?.delta?.content ?? "") === "") continue;
        if (pieces++ === 0) firstMs = Math.round(performance.now() - startedAt);
      }
      if (pieces === 0) throw new ExcursorError("upstream-failed", "The model streamed no text.");
      return ok(`The answer was streamed in ${pieces} pieces, the first after ${firstMs} ms.`);
    },
  };
  const tools: Check = {
    id: "tools",
    async look() {
      if (model === undefined) return NO_MODEL;
      const word = randomBytes(4).toString("hex");
      const asked = `Call the tool ${PROBE} once. Then answer with the word that it gives you, and nothing else.`;
      const user = { role: "user", content: isScripted ? `@sim call ${PROBE} {} ;; say {{result}}` : asked };
      const parameters = { type: "object", properties: {} };
      const offered = [{ type: "function", function: { name: PROBE, description: "Gives a word.", parameters } }];
      const first = (await (await post({ messages: [user], tools: offered })).json()) as Completion;
      const assistant = first.choices[0]?.message;
      const [call] = assistant?.tool_calls ?? [];
      if (!call) throw new ExcursorError("upstream-failed", "The model did not call the test tool.");
      const result = { role: "tool", tool_call_id: call.id, content: word };
      const second = (await (await post({ messages: [user, assistant, result], tools: offered })).json()) as Completion;
      const text = second.choices[0]?.message.content ?? "";
      if (!text.includes(word))
        throw new ExcursorError("upstream-failed", "The model did not repeat the tool's result.");
      return ok("The model called a tool and received its result.");
    },
  };
  return isQuick ? [models] : [models, stream, tools];
}
