import { useEffect, useRef } from "preact/hooks";
import { connection } from "./feed.ts";
import { PAGES } from "./pages/index.ts";
import { Icon } from "./parts/icon.tsx";
import { Notice } from "./parts/notice.tsx";
import { Prompts } from "./parts/prompts.tsx";
import { path } from "./router.ts";
import { endSession, session } from "./session.ts";
import { nextTheme, theme } from "./theme.ts";

/** The frame around every page. */
export function App() {
  const { type } = session.value;
  if (type === "opening") return <p class="centre muted">Opening…</p>;
  if (type !== "open") return <SignedOut />;
  const page = PAGES.find(
    (one) => path.value === one.path || (path.value.startsWith(`${one.path}/`) && one.path !== "/ui"),
  );
  document.title = `${page?.title ?? "Not found"} · Excursor`;
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Sidebar current={page?.path} />
      <main id="main" tabIndex={-1}>
        {connection.value === "lost" && (
          <Notice kind="warn" title="The connection to the gateway is lost.">
            Trying again. What you see may be old.
          </Notice>
        )}
        {connection.value === "none" && (
          <Notice kind="warn" title="Too many pages of the dashboard are open.">
            This one is not live. Close some of the others.
          </Notice>
        )}
        <Prompts />
        {page ? <page.Content rest={decodeURIComponent(path.value.slice(page.path.length + 1))} /> : <NotFound />}
      </main>
    </div>
  );
}

const STATES: Readonly<Record<typeof connection.value, string>> = {
  connecting: "Connecting",
  live: "Live",
  lost: "Not connected",
  none: "Not live",
};

function Sidebar({ current }: { readonly current: string | undefined }) {
  const state = session.value;
  const nav = useRef<HTMLElement>(null);
  // On a small screen the navigation scrolls sideways.
  useEffect(() => {
    nav.current?.querySelector(`[href="${current}"]`)?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  return (
    <header class="sidebar">
      <a class="brand" href="/ui" aria-label="Excursor, start page">
        <img src="/ui/icon.svg" alt="" width="22" height="22" />
        <span>Excursor</span>
        {state.type === "open" && state.isDemo && <span class="tag">demo</span>}
      </a>
      <nav aria-label="Pages" ref={nav}>
        {PAGES.map(({ path: to, title, icon }) => (
          <a key={to} href={to} aria-current={to === current ? "page" : undefined}>
            <Icon name={icon} />
            <span>{title}</span>
          </a>
        ))}
      </nav>
      <footer>
        <span class={`dot ${connection.value}`} role="status">
          {STATES[connection.value]}
        </span>
        <button type="button" class="quiet" onClick={nextTheme} title="Change the theme">
          Theme: {theme.value}
        </button>
        <button type="button" class="quiet" onClick={() => void endSession()}>
          Sign out
        </button>
        {state.type === "open" && <span class="muted version">{state.version}</span>}
      </footer>
    </header>
  );
}

function SignedOut() {
  const state = session.value;
  if (state.type === "failed") {
    return (
      <div class="centre">
        <Notice kind="bad" title={state.error.message}>
          {state.error.hint}
        </Notice>
      </div>
    );
  }
  const isLink = location.pathname.startsWith("/ui/link");
  return (
    <main class="centre" id="main">
      <img src="/ui/icon.svg" alt="" width="44" height="44" />
      <h1>{isLink ? "This link no longer works" : "Sign in"}</h1>
      <p>
        {isLink
          ? "A link opens the dashboard once, within a minute. Ask for another one in a terminal:"
          : "The dashboard belongs to the owner of the gateway. Ask for a link in a terminal:"}
      </p>
      <pre class="command">excursor ui</pre>
      <p class="muted">
        In a checkout: <code>npm run -s excursor -- ui</code>
      </p>
    </main>
  );
}

const NotFound = () => (
  <Notice kind="info" title="There is no such page.">
    <a href="/ui">Go to the start page</a>
  </Notice>
);
