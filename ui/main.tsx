import { render } from "preact";
import { App } from "./app.tsx";
import { openFeed } from "./feed.ts";
import { followLinks } from "./router.ts";
import { beginSession, session } from "./session.ts";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/pages.css";
import "./styles/playground.css";
import "./styles/tools.css";
import "./styles/captured.css";
import { applyTheme } from "./theme.ts";

applyTheme();
followLinks();
const root = document.getElementById("app");
if (root) render(<App />, root);
await beginSession();
if (session.value.type === "open") openFeed();
