// Confidence in words: how often such words were right, where somebody has counted that; otherwise nothing.

import { byId, percent } from "./state.js";

const FEWEST = 20; // words of a band, below which a share says nothing

/** The share of words that were right among those with such a probability; undefined if that is not known. */
export function shareOf(counted, probability) {
  const band = counted?.bands.findLast(({ start }, index) => probability >= start || index === 0);
  return band && band.words >= FEWEST ? band.right / band.words : undefined;
}

/** Offer confidence for a model for which it was counted, and say what it means. */
export function offerConfidence(counted) {
  byId("show-confidence").closest("label").hidden = !counted;
  if (!counted) byId("show-confidence").checked = false;
  const words = counted ? counted.bands.reduce((sum, band) => sum + band.words, 0) : 0;
  byId("confidence-note").textContent = counted
    ? "The line below a word is as long as the share of words that were right among those that the model found as probable; " +
      `full width is 100 %. This was counted on ${words.toLocaleString("en")} words of ${counted.pairs.toLocaleString("en")} sentences ` +
      `(${counted.split}). Right means that the word stands in the reference translation, so another good word counts as wrong.`
    : "";
}

/** What is said of a word. */
export const saidOf = ({ confidence }, share) =>
  share === undefined ? "" : `such words were right in ${percent(share)} % of cases (probability ${percent(confidence)} %)`;
