// Files: chosen or dropped, sent with progress, and their translations to download.

import { byId, create } from "./state.js";
import { ask, send } from "./request.js";

/** Hear of files; `model` gives the languages, `tell` shows a message. */
export function hearFiles(model, tell) {
  const box = byId("source-box");
  const isFile = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  for (const kind of ["dragenter", "dragover"])
    box.addEventListener(kind, (event) => {
      if (!isFile(event)) return;
      event.preventDefault();
      box.classList.add("over");
    });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => {
    box.classList.remove("over");
    if (!isFile(event)) return;
    event.preventDefault();
    translateFile(event.dataTransfer.files[0], model(), tell);
  });
  byId("file").addEventListener("change", () => {
    if (byId("file").files.length) translateFile(byId("file").files[0], model(), tell);
    byId("file").value = "";
  });
}

/** Show which files the server translates, if any. */
export async function nameKinds() {
  let settings = { supportedFilesFormat: [], filesTranslation: true };
  try {
    settings = await ask("/frontend/settings");
  } catch {
    // A server that loads its models does not tell; a file that it does not translate is refused.
  }
  byId("kinds").textContent = settings.supportedFilesFormat.join(" ");
  byId("file").accept = settings.supportedFilesFormat.join(",");
  document.querySelector("#source-box .tools").hidden = !settings.filesTranslation;
}

async function translateFile(file, model, tell) {
  const bar = byId("bar-of-file");
  byId("progress").hidden = false;
  byId("progress-label").textContent = `Sending ${file.name}`;
  bar.value = 0;
  try {
    const address = await send(file, model, (share) => {
      bar.value = share;
      if (share === 1) {
        bar.removeAttribute("value"); // nobody knows how long it takes
        byId("progress-label").textContent = `Translating ${file.name}`;
      }
    });
    tell("");
    const link = create("a", { href: new URL(address, location.href).href, textContent: `Download the translation of ${file.name}`, download: "" });
    byId("status").append(link);
  } catch (error) {
    const isNamed = error.message.startsWith(`${file.name}:`);
    tell(isNamed ? error.message : `${file.name}: ${error.message}`, "wrong");
  }
  byId("progress").hidden = true;
}
