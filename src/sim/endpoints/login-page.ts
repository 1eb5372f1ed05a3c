import type { SimExchange } from "../sim-exchange.ts";

/** Sends the page that a login opens in the browser. It has no script and loads nothing else. */
export function respondLoginPage(exchange: SimExchange, isApproved: boolean, redirectTarget: string): void {
  const page = isApproved ? approvedPage(redirectTarget) : refusedPage();
  exchange.respond(isApproved ? 200 : 400, page, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
}

function approvedPage(redirectTarget: string): string {
  const target = redirectTarget === "" ? "the program that sent you here" : `<b>${escapeHtml(redirectTarget)}</b>`;
  return page("Signed in", `The simulated account is signed in. You can close this page and go back to ${target}.`);
}

const refusedPage = () =>
  page("Not a login", "This address has no login in it: it needs <code>uuid</code> and <code>challenge</code>.");

const page = (title: string, text: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
  body { max-width: 32rem; margin: 20vh auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif; }
  @media (prefers-color-scheme: dark) { body { background: #161616; color: #ddd; } }
</style>
<h1>${title}</h1>
<p>${text}</p>
<p><small>Simulated backend: nobody's real account is involved.</small></p>
</html>
`;

function escapeHtml(text: string): string {
  return text
    .slice(0, 100)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
