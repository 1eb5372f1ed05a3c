/**
 * The JWT in what people copy from Cursor: alone, or as `user::jwt`, which the cookie has as `user%3A%3Ajwt`. Undefined
 * if there is none in it. Only its form is looked at: whether it is any good, the backend says.
 */
export function readCursorToken(text: string): string | undefined {
  return /^(?:[\w|.@%+-]{1,200}?(?:::|%3A%3A))?(eyJ[\w-]+\.[\w-]+\.[\w-]+)$/i.exec(text)?.[1];
}
