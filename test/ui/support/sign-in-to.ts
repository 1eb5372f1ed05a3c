import type { Browser } from "playwright-core";
import type { Visitor } from "../../dashboard/support/open-dashboard.ts";
import { openPage, type Watched } from "./browser.ts";

/** Opens a page of a dashboard in this process, signed in. */
export async function signInTo({ url, link }: Visitor, browser: Browser): Promise<Watched> {
  const watched = await openPage(browser);
  const { path } = (await (await link()).json()) as { path: string };
  await watched.page.goto(url + path);
  await watched.page.getByText("Live", { exact: true }).waitFor();
  return watched;
}
