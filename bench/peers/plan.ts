/** The answer that the bare backend shall give. It is sent as the prompt, through the program under test. */
export interface Plan {
  /** Identifies the stream in the backend's report. */
  readonly id?: number;
  readonly tokens: number;
  /** Tokens a second. Default: as fast as flow control permits. */
  readonly rate?: number;
  /** After its first token the stream waits until this many streams do. Default: it does not wait. */
  readonly together?: number;
  /** The stream stays open and silent after the last token. */
  readonly isHeld?: boolean;
  /** Calls a tool after the last token. Its result is the next plan. */
  readonly isCall?: boolean;
}

export const promptOf = ({ id = 0, tokens, rate = 0, together = 0, isHeld = false, isCall = false }: Plan): string =>
  `@bench id=${id} tokens=${tokens} rate=${rate} together=${together} held=${Number(isHeld)} call=${Number(isCall)}`;

const FORM = /@bench id=(\d+) tokens=(\d+) rate=(\d+) together=(\d+) held=([01]) call=([01])/;

/** Finds the plan in the bytes of a request; undefined if it has not arrived yet. */
export function findPlan(request: Buffer): Required<Plan> | undefined {
  const found = FORM.exec(request.toString("latin1"));
  if (!found) return undefined;
  const [id = 0, tokens = 0, rate = 0, together = 0, held = 0, call = 0] = found.slice(1).map(Number);
  return { id, tokens, rate, together, isHeld: held === 1, isCall: call === 1 };
}

/** Returns the text of an unpaced answer. */
export const textOf = ({ tokens }: Plan): string =>
  Array.from({ length: tokens }, (_, number) => number.toString(36).padStart(NUMBER_DIGITS, "0")).join("");

/**
 * A token is its number in four digits, which shows lost, doubled and reordered tokens. A paced token also has its send
 * time. All tokens have the same length.
 */
export const NUMBER_DIGITS = 4;
export const TIME_DIGITS = 8;
export const MAX_TOKENS = 36 ** NUMBER_DIGITS;

/** Returns microseconds of a clock that all processes share. */
export const nowUs = (): number => Math.round(Number(process.hrtime.bigint()) / 1000);

const DIGITS = Buffer.from("0123456789abcdefghijklmnopqrstuvwxyz");

export function writeNumber(value: number, digits: number, target: Uint8Array, at: number): void {
  let left = value;
  for (let index = at + digits - 1; index >= at; index--) {
    const next = Math.floor(left / 36);
    target[index] = DIGITS[left - next * 36] ?? 0;
    left = next;
  }
}

/** Returns NaN if there is no number. */
export function readNumber(source: Uint8Array, digits: number, at: number): number {
  let value = 0;
  for (let index = at; index < at + digits; index++) value = value * 36 + (VALUES[source[index] ?? 0] ?? Number.NaN);
  return value;
}

const VALUES: readonly number[] = Array.from({ length: 256 }, (_, byte) => {
  const digit = DIGITS.indexOf(byte);
  return digit === -1 ? Number.NaN : digit;
});
