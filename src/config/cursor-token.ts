/**
 * Returns the JWT in a text copied from Cursor: alone, or as `user::jwt` (`user%3A%3Ajwt` in the cookie). Checks only
 * the form: the backend decides whether the token is valid.
 */
export function readCursorToken(text: string): string | undefined {
  return /^(?:[\w|.@%+-]{1,200}?(?:::|%3A%3A))?(eyJ[\w-]+\.[\w-]+\.[\w-]+)$/i.exec(text)?.[1];
}
