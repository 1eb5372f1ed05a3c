import { type DescMessage, type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import {
  type AgentClientMessage,
  AgentClientMessageSchema,
  type AgentServerMessage,
  AgentServerMessageSchema,
} from "../../gen/agent/v1/run_pb.ts";
import { memberName, memberOf } from "../../wire/agent/member.ts";
import type { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import type { TraceEntry } from "../options.ts";
import type { Transport } from "../sim-exchange.ts";
import { shortenBytes } from "./shorten-bytes.ts";

/** Writes the trace of one run, if tracing is on. */
export class RunTrace {
  readonly #write: ((entry: TraceEntry) => void) | undefined;
  readonly #run: string;
  readonly #transport: Transport;

  constructor(write: ((entry: TraceEntry) => void) | undefined, run: string, transport: Transport) {
    this.#write = write;
    this.#run = run;
    this.#transport = transport;
  }

  get isOn(): boolean {
    return this.#write !== undefined;
  }

  note(kind: string, message: unknown, dir: TraceEntry["dir"] = "-"): void {
    this.#write?.({ t: Date.now(), run: this.#run, transport: this.#transport, dir, kind, message });
  }

  /** Notes that the stream was cut, or ended, with the error of its end frame. */
  over(wasCut: boolean, failure: ConnectFailure | undefined): void {
    if (!this.isOn) return;
    this.note(wasCut ? "reset" : "end", failure && !wasCut ? { error: failure.toConnectJson() } : {});
  }

  received(message: AgentClientMessage): void {
    if (!this.isOn) return;
    const kind = memberName(AgentClientMessageSchema, memberOf(AgentClientMessageSchema, message));
    this.note(kind, jsonOf(AgentClientMessageSchema, message), "in");
  }

  sent(message: AgentServerMessage): void {
    if (!this.isOn) return;
    this.note(kindOf(message), jsonOf(AgentServerMessageSchema, message), "out");
  }
}

const jsonOf = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): JsonValue =>
  toJson(schema, shortenBytes(schema, message));

/** Returns the name of an update, or else of the message. */
function kindOf(message: AgentServerMessage): string {
  if (message.message.case !== "interactionUpdate") {
    return memberName(AgentServerMessageSchema, memberOf(AgentServerMessageSchema, message));
  }
  return (message.message.value.message.case ?? "update").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
