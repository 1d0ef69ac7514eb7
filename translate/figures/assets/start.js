// The page as one file: its data stands in it.

import { byId, open } from "./state.js";
import { listen, start } from "./controls.js";

open(JSON.parse(byId("data").textContent));
addEventListener("hashchange", start);
listen();
start();
