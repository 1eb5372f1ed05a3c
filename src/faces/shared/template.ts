/** Text of a stream that is the same for every token, before and after it. */
export interface Template {
  readonly before: string;
  readonly after: string;
}

const MARK = "@token@";

/** Splits a text at the JSON string that stands for the token. */
export function splitTemplate(render: (mark: string) => string): Template {
  const text = render(MARK);
  const mark = JSON.stringify(MARK);
  const at = text.indexOf(mark);
  return { before: text.slice(0, at), after: text.slice(at + mark.length) };
}
