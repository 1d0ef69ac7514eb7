"""The results of ``translate compare`` as lines for the terminal, as JSON, and as the page."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from translate.cli.console import aligned
from translate.cli.test_sets import EvaluationSet, seen_line
from translate.config.names import cut, escaped, shorten
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.evaluation.comparison import Comparison, Wins
    from translate.figures.comparison_page import ComparedSentence, ComparisonPage
    from translate.translator import Translator

NAMES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
COLUMNS = ("", "system", "score", "95 % interval", "difference", "p bootstrap", "p randomisation")
LIKELY = 0.05  # differences with a smaller p are marked
SHOWN = 1000  # characters of a sentence on the terminal


@dataclass(frozen=True)
class Results:
    """The translations of all systems, their scores and the tests of significance."""

    test: EvaluationSet
    texts: dict[str, list[str]]
    translators: "dict[str, Translator]"
    comparison: "Comparison"
    chrf: dict[str, list[float]]  # of each sentence
    shown: list[int]  # sentences that differ most
    seen: dict[str, dict[str, Any]]  # of each run, how many of the pairs it was trained on

    @property
    def wins(self) -> "dict[str, Wins]":
        """Counts of the sentences that each system but the baseline translates better or worse."""
        from translate.evaluation.comparison import wins

        baseline, *others = self.chrf
        return {name: wins(self.chrf[name], self.chrf[baseline]) for name in others}


def lines_of(results: Results) -> list[str]:
    """Scores and tests as a table, signatures, and the sentences that differ most."""
    baseline, *_ = results.texts
    meaning = f"* p below {LIKELY}: unlikely if {_label(baseline)} were as good"
    table = aligned([list(COLUMNS), *_rows(results)])
    return [*table, "", meaning, *_wins(results), "", *_signatures(results), *_sentences(results)]


def _rows(results: Results) -> list[list[str]]:
    """A row of cells for every metric and system; see ``COLUMNS``."""
    baseline, *_ = results.texts
    rows = []
    for metric, scores in results.comparison.scores.items():
        for name, found in scores.items():
            low, high = found.mean - found.interval, found.mean + found.interval
            difference = "" if name == baseline else f"{found.score - scores[baseline].score:+.2f}"
            p = [f"{value:.4f}{'*' * (value < LIKELY)}" for value in found.p.values()] or ["", ""]
            row = [NAMES[metric], _label(name), f"{found.score:.2f}", f"{low:.2f} to {high:.2f}"]
            rows.append([*row, difference, *p])
    return rows


def _wins(results: Results) -> list[str]:
    """How many sentences each system translates better than the baseline, and how many a run has seen."""
    baseline, *_ = results.texts
    seen = [
        seen_line(row, f"{_label(name)}'s", len(results.test.source))
        for name, row in results.seen.items()
        if row.get("seen_in_training")
    ]
    return seen + [
        f"{_label(name)} against {_label(baseline)} by sentence chrF: "
        f"{better:,} sentences better, {worse:,} worse, {equal:,} equal"
        for name, (better, worse, equal) in results.wins.items()
    ]


def _signatures(results: Results) -> list[str]:
    """sacrebleu's signatures of the tests, which hold the seed and the number of resamples."""
    return [
        f"{NAMES[metric]}, {test}: {signature}"
        for metric, signatures in results.comparison.signatures.items()
        for test, signature in signatures.items()
    ]


def _sentences(results: Results) -> list[str]:
    """The sentences that differ most, with what each system wrote."""
    lines = []
    for index in results.shown:
        first, *others = (texts[index] for texts in results.test.references)
        texts = {"source": results.test.source[index], "reference": first}
        texts |= {f"reference {number}": text for number, text in enumerate(others, 2)}
        for name, scores in results.chrf.items():
            texts[f"{_label(name)} {scores[index]:.1f}"] = results.texts[name][index]
        width = max(map(len, texts))
        lines += ["", f"line {index + 1}"]
        lines += [f"  {label:<{width}}  {escaped(cut(text, SHOWN))}" for label, text in texts.items()]
    return lines


def _label(name: str) -> str:
    return shorten(name, 40)


def record_of(results: Results) -> dict[str, Any]:
    """The scores, tests and sentences as a value that JSON can hold."""
    baseline, *_ = results.texts
    systems = []
    for name in results.texts:
        row: dict[str, Any] = {"name": name}
        for metric, scores in results.comparison.scores.items():
            found = scores[name]
            interval = [found.mean - found.interval, found.mean + found.interval]
            row[metric] = {"score": found.score, "interval": interval}
            if found.p:
                row[metric] |= {"difference": found.score - scores[baseline].score, "p": dict(found.p)}
        row |= results.seen.get(name, {})
        if name in results.wins:
            row["sentences"] = results.wins[name]._asdict()
        systems.append(row)
    return {
        "sentences": len(results.test.source),
        "references": len(results.test.references),
        "baseline": baseline,
        "systems": systems,
        "signatures": results.comparison.signatures,
        "differences": [
            {
                "line": index + 1,
                "source": results.test.source[index],
                "references": [texts[index] for texts in results.test.references],
                "chrf": {name: scores[index] for name, scores in results.chrf.items()},
                "texts": {name: lines[index] for name, lines in results.texts.items()},
            }
            for index in results.shown
        ],
    }


def page_of(results: Results) -> "ComparisonPage":
    """The results as a page; each word of a run's translation names the source words that it is linked to."""
    from translate.figures.comparison_page import ComparisonPage

    test, count = results.test, len(results.test.source)
    several = "1 reference" if len(test.references) == 1 else f"{len(test.references)} references"
    return ComparisonPage(
        title=" and ".join(results.texts),
        note=f"{test.name}: {count:,} sentences, {several}",
        header=COLUMNS,
        rows=_rows(results),
        notes=[*_wins(results), *_signatures(results)],
        sentences=[_compared(results, index) for index in results.shown],
    )


def _compared(results: Results, index: int) -> "ComparedSentence":
    from translate.figures.comparison_page import ComparedSentence, ComparedText

    source = results.test.source[index]
    texts = []
    for name, lines in results.texts.items():
        hints = _hints(results.translators.get(name), source, lines[index])
        texts.append(ComparedText(name, lines[index], results.chrf[name][index], hints))
    references = [lines[index] for lines in results.test.references]
    return ComparedSentence(f"line {index + 1}", source, references, texts)


def _hints(translator: "Translator | None", source: str, text: str) -> dict[tuple[int, int], str]:
    """For each word of a translation, by its place in the text, the source words that it is linked to."""
    if translator is None or not source.strip() or not text.strip():
        return {}
    try:
        (alignment,) = translator.align([source], [text])
    except UserError:  # longer than the model can read
        return {}
    words: dict[int, list[str]] = {}
    for source_word, target_word in sorted(alignment.links()):
        words.setdefault(target_word, []).append(alignment.source_words[source_word])
    return {alignment.target_offsets[target]: " ".join(linked) for target, linked in words.items()}
