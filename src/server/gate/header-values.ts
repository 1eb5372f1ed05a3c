/** A request of either version of HTTP. */
export interface RawHeaders {
  readonly rawHeaders: readonly string[];
}

/** Returns every value of a header. Node's own `headers` joins or drops repeated ones. */
export function valuesOf({ rawHeaders }: RawHeaders, name: string): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at];
    if (given?.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? "");
  }
  return values;
}
