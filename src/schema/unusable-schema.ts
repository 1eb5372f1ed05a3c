const MAX_PATH_CHARS = 200;

/** Why a schema cannot be used, with the place as a JSON pointer; `""` is the whole schema. */
export class UnusableSchema extends Error {
  override readonly name = "UnusableSchema";

  constructor(path: string, why: string) {
    super(path === "" ? why : `${path.length > MAX_PATH_CHARS ? `${path.slice(0, MAX_PATH_CHARS)}…` : path}: ${why}`);
  }
}
