/** Returns the text of a result that is not a success. */
export function problemText(result: {
  readonly case: string | undefined;
  readonly value?: object | undefined;
}): string {
  const { error, reason, clientVisibleError, path } = (result.value ?? {}) as Record<string, unknown>;
  const words = result.case?.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`) ?? "empty result";
  const detail = [error, reason, clientVisibleError, path].find((part) => typeof part === "string" && part !== "");
  return detail === undefined ? words : `${words}: ${String(detail)}`;
}
