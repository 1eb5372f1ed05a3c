const MAX_WORDS = 5;
const MAX_CHARACTERS = 40;

/** Returns a title for a conversation: the first words of its first message. */
export function titleFor(message: string): string {
  // The beginning is enough, and keeps hostile input cheap.
  const plain = message.slice(0, 1000).replace(/<[^<>]*>/g, " ");
  const words = plain.split(/\s+/).filter((word) => word !== "");
  const title = [...words.slice(0, MAX_WORDS).join(" ")].slice(0, MAX_CHARACTERS).join("").trim();
  return title === "" ? "New Agent" : title;
}
