import { ConversationDetail } from "./conversation-detail.tsx";
import { ConversationList } from "./conversation-list.tsx";
import type { Page } from "./page.ts";

export const conversationsPage: Page = {
  path: "/ui/conversations",
  title: "Conversations",
  icon: "threads",
  Content: ({ rest }) => (rest === "" ? <ConversationList /> : <ConversationDetail key={rest} id={rest} />),
};
