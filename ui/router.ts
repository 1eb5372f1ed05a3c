import { signal } from "@preact/signals";

/** The path of the page that is shown, without the slash at its end. */
export const path = signal(currentPath());

function currentPath(): string {
  return location.pathname.replace(/\/$/, "");
}

/** Shows another page of the dashboard. */
function navigate(to: string): void {
  if (to === location.pathname) return;
  history.pushState(null, "", to);
  path.value = currentPath();
  scrollTo(0, 0);
  document.getElementById("main")?.focus({ preventScroll: true });
}

/** Makes links between pages change the page without loading it again. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    path.value = currentPath();
  });
  document.addEventListener("click", (event) => {
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!isPlain || !link || link.origin !== location.origin || !/^\/ui(?:\/|$)/.test(link.pathname)) return;
    // The browser itself moves to a part of this page.
    if (link.hash !== "") return;
    event.preventDefault();
    navigate(link.pathname);
  });
}
