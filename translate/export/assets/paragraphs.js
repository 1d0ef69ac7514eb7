// The sentences of a text: those that the browser finds in each line, less the ends that an abbreviation feigns.

import { SPACE } from "./words.js";

const ABBREVIATION = /(?:^|[\s"'“‘«(])(?:mrs?|ms|dr|prof|st|vs|e\.g|i\.e|cf|no|mme|mlle|mm|pp?|art|z\. ?b|bzw|ca|nr|\p{L})\.$/iu;
const ENDS = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "gu");

/** Spans of the sentences, which are not blank, without the white space around them. */
export function sentences(text, language) {
  const found = [];
  let start = 0;
  for (const line of text.split("\n")) {
    let begin = 0;
    for (const end of endsOf(line, language)) {
      const part = line.slice(begin, end);
      const inner = part.replace(ENDS, "");
      const first = start + begin + part.indexOf(inner);
      if (inner) found.push([first, first + inner.length]);
      begin = end;
    }
    start += line.length + 1;
  }
  return found;
}

function endsOf(line, language) {
  if (!globalThis.Intl?.Segmenter) return [line.length];
  let segments;
  try {
    segments = new Intl.Segmenter(language || "en", { granularity: "sentence" });
  } catch {
    segments = new Intl.Segmenter("en", { granularity: "sentence" }); // a code that the browser does not know
  }
  const ends = [...segments.segment(line)].map(({ index, segment }) => index + segment.length);
  return ends.filter((end) => end === line.length || !ABBREVIATION.test(line.slice(0, end).trimEnd()));
}
