import type { Message } from "@bufbuild/protobuf";
import { unknownMember } from "../../../wire/agent/member.ts";

/** Counts things that the schema does not know. Reports the first, and again at every power of ten. */
export class UnknownTally {
  readonly #counts = new Map<string, number>();
  readonly #tell: (what: string, count: number) => void;

  constructor(tell: (what: string, count: number) => void) {
    this.#tell = tell;
  }

  add(kind: string, message: Message): void {
    const member = unknownMember(message);
    const what = member === undefined ? kind : `${kind} #${member}`;
    // A peer with made-up numbers must not exhaust the memory.
    if (this.#counts.size >= MAX_KINDS && !this.#counts.has(what)) return;
    const count = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, count);
    if (/^10*$/.test(String(count))) this.#tell(what, count);
  }
}

const MAX_KINDS = 1000;
