import { InvalidArgumentError } from "@commander-js/extra-typings";

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("Expected a whole number.");
  return Number(text);
}

export function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port > 65_535) throw new InvalidArgumentError("Expected a port from 0 to 65535.");
  return port;
}
