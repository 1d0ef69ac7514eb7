"""The report for people: the same tables as Markdown and as a page, with examples of every reason."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from translate.text.aside import write_text

NAMES = "report.md", "report.html"
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;"
    "color:#1b1b1b;background:#fff}table{border-collapse:collapse;margin:1rem 0 2rem;width:100%}"
    "td,th{border-bottom:1px solid #ccc;padding:.3rem .6rem;text-align:left;vertical-align:top;"
    "overflow-wrap:anywhere}td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181b}td,th{border-color:#444}}"
)


class _Table(NamedTuple):
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""


def write_readable(out: Path, report: dict[str, Any]) -> None:
    """Write ``report.md`` and ``report.html`` into the folder of the shards."""
    title = f"Corpora {' to '.join(report['languages'])}"
    tables = [table for table in (*_counts(report), *_measures(report)) if table.rows]
    write_text(out / NAMES[0], _markdown(title, tables))
    write_text(out / NAMES[1], _page(title, tables))


def summary(report: dict[str, Any]) -> list[str]:
    """Lines for the terminal: what was read, kept and dropped."""
    read = sum(counts.get("train", 0) for counts in report["read"].values())
    sizes = ", ".join(f"{split} {count:,}" for split, count in report["splits"].items())
    lines = [f"read {read:,} training pairs; written: {sizes}"]
    totals: dict[str, int] = {}
    for counts in report["dropped"].values():
        for reason, count in counts.items():
            totals[reason] = totals.get(reason, 0) + count
    lines += [f"  dropped {totals[reason]:>12,} {meaning}" for reason, meaning in report["reasons"].items()]
    for name, what in (("same_pair", "in both languages"), ("same_side", "in one language or both")):
        count = report["overlap"][name]
        if count:
            lines.append(f"  {count:,} clean training pairs equal a validation or test pair {what}")
    return [*lines, f"hash {report['hash']}"]


def _counts(report: dict[str, Any]) -> list[_Table]:
    reasons = report["reasons"]
    corpora = report["read"]
    sizes = [
        (
            corpus,
            *(_count(counts.get(split, 0)) for split in ("train", "validation", "test")),
            _count(report["kept"].get(corpus, 0)),
            _share(report["kept"].get(corpus, 0), counts.get("train", 0)),
        )
        for corpus, counts in corpora.items()
    ]
    dropped = [
        (meaning, *(_count(report["dropped"].get(corpus, {}).get(reason, 0)) for corpus in corpora))
        for reason, meaning in reasons.items()
    ]
    return [
        _Table("Pairs", ("corpus", "read", "validation", "test", "kept for training", "share"), sizes),
        _Table(
            "Dropped pairs",
            ("reason", *corpora),
            dropped,
            "Each pair counts once, for the first reason found.",
        ),
        _Table(
            "Overlap",
            ("clean training pairs that ...", "pairs"),
            [
                (
                    "equal a held pair on both sides, but for case, punctuation and numbers",
                    _count(report["overlap"]["same_pair"]),
                ),
                ("... on one side at least", _count(report["overlap"]["same_side"])),
            ],
            "They are dropped only if the setting overlap says so.",
        ),
    ]


def _measures(report: dict[str, Any]) -> list[_Table]:
    words, reasons = report["words"], report["reasons"]
    tables = [
        _Table(
            "Words of a side, kept pairs",
            ("side", *words["source"]),
            [(side, *(f"{value:g}" for value in found.values())) for side, found in words.items()],
        ),
        _Table(
            "Languages identified",
            ("side", "language", "sides"),
            [
                (side, language, _count(count))
                for side, found in report["identified_languages"].items()
                for language, count in found.items()
            ],
            "Sides with too few letters are not counted.",
        ),
        _histogram(
            "Probability of a translation",
            report["translation_probability"],
            "By the links between the words, if half of all pairs were translations (links.min_probability).",
        ),
        _histogram(
            "Link coverage",
            report["link_coverage"],
            "The share of words that link to a word of the other side, of the side with fewer of them.",
        ),
        _Table(
            "Files left out",
            ("corpus", "file", "why"),
            [tuple(entry.values()) for entry in report["damaged_files"]],
        ),
    ]
    return tables + [
        _Table(
            f"Examples: {reasons[reason]}",
            ("corpus", "line", "source", "target"),
            [(pair["corpus"], pair["line"], pair["source"], pair["target"]) for pair in pairs],
        )
        for reason, pairs in report["examples"].items()
    ]


def _histogram(title: str, counts: dict[str, dict[str, int]], note: str) -> _Table:
    """A row for each step of a value, a column for each corpus."""
    steps = next(iter(counts.values()), {})
    rows = [(low, *(_count(found[low]) for found in counts.values())) for low in steps]
    return _Table(title, ("from", *counts), rows, note)


def _count(number: int) -> str:
    return f"{number:,}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _is_number(cell: object) -> bool:
    return isinstance(cell, int) or str(cell).replace(",", "").replace(".", "").removesuffix(" %").isdigit()


def _markdown(title: str, tables: list[_Table]) -> str:
    lines = [f"# {title}", ""]
    for table in tables:
        lines += [f"## {table.title}", ""]
        lines.append(f"| {' | '.join(map(_cell, table.head))} |")
        numeric = [_is_number(cell) for cell in table.rows[0]]
        lines.append(f"| {' | '.join('---:' if number else '---' for number in numeric)} |")
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in table.rows]
        lines += ["", *([table.note, ""] if table.note else [])]
    return "\n".join(lines)


def _cell(value: object) -> str:
    """A cell of Markdown that shows the characters of a stranger's text, and obeys none."""
    text = html.escape(str(value), quote=False)
    for mark in "\\`*_[]|~#":
        text = text.replace(mark, f"\\{mark}")
    return text


def _page(title: str, tables: list[_Table]) -> str:
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{html.escape(title)}</h1>"
    ]
    for table in tables:
        numeric = [' class="n"' if _is_number(cell) else "" for cell in table.rows[0]]
        parts.append(f"<h2>{html.escape(table.title)}</h2>")
        if table.note:
            parts.append(f"<p>{html.escape(table.note)}</p>")
        head = "".join(f"<th{kind}>{html.escape(str(cell))}</th>" for kind, cell in zip(numeric, table.head))
        rows = (
            "".join(f'<td dir="auto"{kind}>{html.escape(str(cell))}</td>' for kind, cell in zip(numeric, row))
            for row in table.rows
        )
        parts.append(f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>")
    return "\n".join(parts) + "</html>\n"
