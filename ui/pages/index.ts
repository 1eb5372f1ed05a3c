import { conversationsPage } from "./conversations.tsx";
import { nowPage } from "./now.tsx";
import type { Page } from "./page.ts";

/** In the order of the navigation. */
export const PAGES: readonly Page[] = [nowPage, conversationsPage];
