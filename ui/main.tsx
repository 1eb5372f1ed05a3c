import { render } from "preact";
import { App } from "./app.tsx";
import { connect } from "./feed.ts";
import { followLinks } from "./router.ts";
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
await connect();
