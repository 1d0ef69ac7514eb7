// What is seen as one file, which opens without a server.

const SCALE = 65535; // as state.js reads weights

function encoded(numbers) {
  const bytes = new Uint8Array(2 * numbers.length);
  const writer = new DataView(bytes.buffer);
  numbers.forEach((share, place) => writer.setUint16(2 * place, Math.round(Math.min(1, share) * SCALE), true));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

const escaped = (text) => text.replace(/[<>&"']/g, (mark) => `&#${mark.charCodeAt(0)};`);

/** Download a page; its skeleton has the shared parts in it. */
export async function save(page, texts) {
  const skeleton = await (await fetch(new URL("skeleton.html", import.meta.url))).text();
  const alternatives = page.alternatives.map((one) => ({
    ...one,
    views: one.views.map(({ numbers, ...view }) => ({ ...view, data: encoded(numbers) })),
  }));
  const data = JSON.stringify({ ...page, alternatives });
  const values = {
    title: "Word alignment",
    note: "",
    plain: texts.map(escaped).join("<br>"),
    data: data.replace(/[<>&\u2028\u2029]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`),
  };
  const filled = skeleton.replace(/\{\{(\w+)\}\}/g, (field, name) => (name in values ? values[name] : field));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([filled], { type: "text/html" }));
  link.download = "alignment.html";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
