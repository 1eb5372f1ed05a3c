/** What a fuzz run needs of fast-check's parameters. */
export interface FuzzBudget {
  readonly seed: number;
  readonly path: string;
  readonly numRuns: number;
  readonly interruptAfterTimeLimit: number;
}

/**
 * A random seed, or the one to repeat: fast-check prints the `seed` and `path` of a failure, and `ATTACK_SEED` and
 * `ATTACK_PATH` take them. At most `numRuns` cases and about `ms` milliseconds.
 */
export function fuzzBudget(numRuns: number, ms: number): FuzzBudget {
  const { ATTACK_SEED: seed, ATTACK_PATH: path = "" } = process.env;
  return { seed: seed ? Number(seed) : Date.now() & 0x7fffffff, path, numRuns, interruptAfterTimeLimit: ms };
}
