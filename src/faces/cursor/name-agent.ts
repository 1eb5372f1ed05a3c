/** Characters of a name, at most. */
const MAX_NAME = 60;

/** Names a conversation after its first message, for clients that ask with `NameAgent`. Nothing is sent anywhere. */
export function nameOfConversation(userMessage: string): string {
  const [line = ""] = userMessage.trim().split("\n");
  const words = line.replace(/\s+/g, " ").trim();
  if (words === "") return "New conversation";
  if (words.length <= MAX_NAME) return words;
  const cut = words.slice(0, MAX_NAME);
  return `${cut.slice(0, cut.lastIndexOf(" ") > MAX_NAME / 2 ? cut.lastIndexOf(" ") : MAX_NAME)}…`;
}
