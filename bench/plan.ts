/** What one answer of the bare backend shall be. It travels as the prompt, through whatever is measured. */
export interface Plan {
  /** Tells one stream from another in the backend's report. */
  readonly id?: number;
  readonly tokens: number;
  /** Tokens a second. Default: as fast as flow control lets it. */
  readonly rate?: number;
  /** After its first token a stream waits until this many do. Default: it does not. */
  readonly together?: number;
  /** The stream stays open after the last token, and nothing more comes. */
  readonly isHeld?: boolean;
  /** After the last token it calls a tool, whose result is the next plan. */
  readonly isCall?: boolean;
}

export const promptOf = ({ id = 0, tokens, rate = 0, together = 0, isHeld = false, isCall = false }: Plan): string =>
  `@bench id=${id} tokens=${tokens} rate=${rate} together=${together} held=${Number(isHeld)} call=${Number(isCall)}`;

const FORM = /@bench id=(\d+) tokens=(\d+) rate=(\d+) together=(\d+) held=([01]) call=([01])/;

/** The plan in a request, wherever in its bytes it is; undefined if it has not come yet. */
export function findPlan(request: Buffer): Required<Plan> | undefined {
  const found = FORM.exec(request.toString("latin1"));
  if (!found) return undefined;
  const [id = 0, tokens = 0, rate = 0, together = 0, held = 0, call = 0] = found.slice(1).map(Number);
  return { id, tokens, rate, together, isHeld: held === 1, isCall: call === 1 };
}

/** What an answer as planned says, if it is not paced. */
export const textOf = ({ tokens }: Plan): string =>
  Array.from({ length: tokens }, (_, number) => number.toString(36).padStart(NUMBER_DIGITS, "0")).join("");

/**
 * A token is its number in four digits, so that every one that is lost, doubled or out of order is seen; a paced one
 * also has the time when it was sent. All are as long as each other.
 */
export const NUMBER_DIGITS = 4;
export const TIME_DIGITS = 8;
/** What four digits count to. */
export const MAX_TOKENS = 36 ** NUMBER_DIGITS;

/** Microseconds of the clock that all processes of a machine share. */
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

/** NaN where there is no number. */
export function readNumber(source: Uint8Array, digits: number, at: number): number {
  let value = 0;
  for (let index = at; index < at + digits; index++) value = value * 36 + (VALUES[source[index] ?? 0] ?? Number.NaN);
  return value;
}

const VALUES: readonly number[] = Array.from({ length: 256 }, (_, byte) => {
  const digit = DIGITS.indexOf(byte);
  return digit === -1 ? Number.NaN : digit;
});
