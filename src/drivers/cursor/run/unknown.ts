import type { Message } from "@bufbuild/protobuf";
import { unknownMember } from "../../../wire/agent/member.ts";

/** What the schema does not know, counted; told at the first time, and again at every tenfold. */
export class UnknownTally {
  readonly #counts = new Map<string, number>();
  readonly #tell: (what: string, count: number) => void;

  constructor(tell: (what: string, count: number) => void) {
    this.#tell = tell;
  }

  add(kind: string, message: Message): void {
    const member = unknownMember(message);
    const what = member === undefined ? kind : `${kind} #${member}`;
    // A peer that makes up numbers must not cost memory for ever.
    if (this.#counts.size >= MAX_KINDS && !this.#counts.has(what)) return;
    const count = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, count);
    if (/^10*$/.test(String(count))) this.#tell(what, count);
  }
}

const MAX_KINDS = 1000;
