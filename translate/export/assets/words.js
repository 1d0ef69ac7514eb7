// Words of a text, as translate/text/words.py splits it.

// Each character of a script that is written without spaces counts as a word.
const UNSPACED = "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const WORD = "\\p{L}\\p{N}_";
const MARK = "(?![\\u{1f000}-\\u{10ffff}])[\\p{Mn}\\p{Mc}]";
const CLITICS = "t-(?:il|elle|on)|la|le|les|lui|leur|moi|toi|nous|vous|y|en|je|tu|il|elle|on|ils|elles|ce";
const ENDINGS = "t|s|d|m|re|ve|ll"; // of English contractions
// What a letter of these stands for beside itself and its capital.
const CASES = { i: "İı", s: "ſ" };

const letter = `(?:(?![${UNSPACED}])(?:[${WORD}\\xad\\u200c\\u200d]|${MARK}))`;
const either = (parts) =>
  parts.replace(/(?<!\()[a-z]/g, (one) => `[${one}${one.toUpperCase()}${CASES[one] || ""}]`);
const alone = `(?!${letter}|['’])`;
const clitic = `-(?:${either(CLITICS)})${alone}`;
const sign = `[^${WORD}${SPACE}]`;
const PATTERN = [
  clitic,
  `[Aa]ujourd['’]hui(?!${letter})`,
  `[${UNSPACED}](?:${MARK}|\\u200d)*`,
  "[\\u{1f1e6}-\\u{1f1ff}]{2}",
  "\\p{Nd}+(?:[.,:]\\p{Nd}+)+",
  `${letter}+(?:(?!${clitic})-${letter}+)*(?:['’](?:${either(ENDINGS)})${alone}|['’])?`,
  `(?<sign>${sign})(?:\\k<sign>|${MARK}|[\\u200c\\u{1f3fb}-\\u{1f3ff}]|\\u200d(?:${sign})?)*`,
].join("|");

const wordsBy = (pattern) => (text) =>
  [...text.matchAll(pattern)].map(({ 0: found, index }) => ({ text: found, start: index, end: index + found.length }));

/** Words {text, start, end}, their places in UTF-16 units. */
export const splitWords = wordsBy(new RegExp(PATTERN, "gu"));
export const whitespaceWords = wordsBy(new RegExp(`[^${SPACE}]+`, "gu"));

/** Words of Moses and of the Penn treebank that no other text has between spaces. */
export const TOOLKIT_WORD = new RegExp(
  `^(?:[nN]['’][tT]|['’](?:ll|re|ve|LL|RE|VE|[smdtSMDT])|[${WORD}]*&#?[${WORD}]+;[${WORD}]*|@[^${SPACE}]@)$`,
  "u",
);

const RUN_OF_SPACE = new RegExp(`[${SPACE}]+`, "gu");

/** A text on one line: runs of white space become one space, and its ends are stripped. */
export const oneLine = (text) => text.replace(RUN_OF_SPACE, " ").replace(/^ | $/g, "");
export const isSpace = (character) => RegExp(`^[${SPACE}]$`, "u").test(character);
