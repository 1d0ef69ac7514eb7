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
  nameKinds();
}

async function nameKinds() {
  try {
    const { supportedFilesFormat, filesTranslation } = await ask("/frontend/settings");
    byId("kinds").textContent = supportedFilesFormat.join(" ");
    byId("file").accept = supportedFilesFormat.join(",");
    if (!filesTranslation) throw new Error();
  } catch {
    document.querySelector(".tools").hidden = true; // this server translates no files
  }
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
    tell(`${file.name}: ${error.message}`, "wrong");
  }
  byId("progress").hidden = true;
}
