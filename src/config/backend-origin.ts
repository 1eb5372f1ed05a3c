/** Cursor's own backend, and the website that signs people in to it. */
export const CURSOR_ORIGIN = "https://api2.cursor.sh";
const CURSOR_WEBSITE = "https://cursor.com";
/** The one that takes its own cookie: the other answers with a redirect, which is not followed. */
const CURSOR_SESSION_WEBSITE = "https://www.cursor.com";

/** The origin of the backend that the settings mean. */
export const backendOrigin = (upstream: string | undefined): string => new URL(upstream ?? CURSOR_ORIGIN).origin;

/** Another backend has its website on the same origin. */
export const websiteOf = (origin: string): string => (origin === CURSOR_ORIGIN ? CURSOR_WEBSITE : origin);

export const sessionWebsiteOf = (origin: string): string =>
  origin === CURSOR_ORIGIN ? CURSOR_SESSION_WEBSITE : origin;
