// In place of requests to a server: the model that lies beside this page answers.

import { Engine } from "./engine.js";

let loading = null;

function engine() {
  loading ??= Engine.load().catch((error) => {
    console.error(error);
    throw new Error(`The translator cannot be loaded: ${error.message}`);
  });
  return loading;
}

const answers = {
  "/frontend/settings": () => ({ supportedFilesFormat: [], filesTranslation: false }),
  "/v1/models": ({ model }) => ({ models: [{ ...model, methods: ["attention"] }] }),
  "/v1/translate": async (own, body, signal) => {
    const wish = { prefix: body.prefix, othersAt: body.alternatives_at };
    const row = body.split_sentences ? await own.text(body.text, signal) : await own.sentence(body.text, wish, signal);
    return { translations: [row] };
  },
  "/v1/align": async (own, body, signal) => {
    const rows = [];
    for (const [index, source] of body.source.entries()) rows.push(await own.align(source, body.target[index], body, signal));
    return { translations: rows };
  },
};

/** The answer to a request. */
export const ask = async (path, body, signal) => answers[path](await engine(), body, signal);

export async function send() {
  throw new Error("this page translates text, not files.");
}
