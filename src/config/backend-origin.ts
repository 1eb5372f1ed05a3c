/** Cursor's own backend, its REST interface, and the website that signs people in to it. */
export const CURSOR_ORIGIN = "https://api2.cursor.sh";
const CURSOR_REST_ORIGIN = "https://api.cursor.com";
const CURSOR_WEBSITE = "https://cursor.com";
/** The host that accepts the session cookie. The other host redirects, and redirects are not followed. */
const CURSOR_SESSION_WEBSITE = "https://www.cursor.com";

export const backendOrigin = (upstream: string | undefined): string => new URL(upstream ?? CURSOR_ORIGIN).origin;

/** Returns the website of a backend. Other backends have it on the same origin. */
export const websiteOf = (origin: string): string => (origin === CURSOR_ORIGIN ? CURSOR_WEBSITE : origin);

/** Returns where a backend has its REST interface (`/v1/…`). Other backends have it on the same origin. */
export const restOriginOf = (origin: string): string => (origin === CURSOR_ORIGIN ? CURSOR_REST_ORIGIN : origin);

export const sessionWebsiteOf = (origin: string): string =>
  origin === CURSOR_ORIGIN ? CURSOR_SESSION_WEBSITE : origin;
