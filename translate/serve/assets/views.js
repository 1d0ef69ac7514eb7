// The other methods, and every layer and head, of a translation that is given.

import { together, viewOf } from "./answer.js";
import { ask } from "./request.js";

const MOST_HEADS = 64; // requests for heads

/** The views that the server can compute; one that it refuses is left out. */
export async function fetchViews(model, sentences, signal) {
  const full = sentences.filter((one) => one.sourceWords.length && one.targetWords.length);
  if (!full.length) return [];
  const pairs = { source: full.map((one) => one.source), target: full.map((one) => one.target) };
  const weights = async (wish) => {
    const body = { ...pairs, model: model.name, confidence: false, ...wish };
    const { translations } = await ask("/v1/align", body, signal);
    if (translations.some(({ weights }, number) => weights.length !== full[number].targetWords.length))
      throw new Error("The words of this translation cannot be read back one by one, so there are only its links.");
    return together(sentences, (one) => translations[full.indexOf(one)]?.weights ?? []);
  };
  const views = [];
  const count = model.layers * model.heads;
  if (count > 1 && count <= MOST_HEADS) {
    const heads = [];
    for (let layer = 0; layer < model.layers; layer++)
      for (let head = 0; head < model.heads; head++) heads.push(await weights({ layer, heads: [head] }));
    const numbers = new Float32Array(heads.reduce((sum, one) => sum + one.length, 0));
    heads.forEach((one, index) => numbers.set(one, index * one.length));
    views.push(viewOf("attention", numbers, model.layers, model.heads));
  }
  for (const method of model.methods.filter((name) => name !== "attention")) {
    try {
      views.push(viewOf(method, await weights({ method })));
    } catch (error) {
      if (error.name === "AbortError") throw error;
    }
  }
  return views;
}
