/** The data of each event of a stream, by the rules of the specification as far as we use them. */
export function readSse(stream: string): string[] {
  const events = stream.split("\n\n");
  if (events.pop() !== "") throw new Error("The last event is not closed.");
  return events.map((event) => {
    if (!event.startsWith("data: ") || /[\r\n]/.test(event)) throw new Error(`Not one line of data: ${event}`);
    return event.slice("data: ".length);
  });
}
