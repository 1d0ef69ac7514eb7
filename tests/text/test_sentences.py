import pytest

from translate.text.sentences import split_sentences

CASES = {
    "": [],
    "  \t ": [],
    "One sentence": ["One sentence"],
    "One. Two! Three? Four": ["One.", "Two!", "Three?", "Four"],
    "Mr. Smith met Dr. Jones. They left.": ["Mr. Smith met Dr. Jones.", "They left."],
    "J. R. R. Tolkien wrote. We read.": ["J. R. R. Tolkien wrote.", "We read."],
    "It costs 3.50 euros. Good.": ["It costs 3.50 euros.", "Good."],
    "„Komm!“ Er ging.": ["„Komm!“", "Er ging."],
    "He said “no.” Then he left.": ["He said “no.”", "Then he left."],
    "z. B. Äpfel und u. a. Birnen. Ende.": ["z. B. Äpfel und u. a. Birnen.", "Ende."],
    "Am 3. Mai kam er. Er blieb.": ["Am 3. Mai kam er.", "Er blieb."],
    "Wait... what? Yes.": ["Wait... what?", "Yes."],
    "你好。再见！": ["你好。", "再见！"],
    "see e.g. This one.": ["see e.g. This one."],
    "Élan. Été.": ["Élan.", "Été."],
    "no space.Here": ["no space.Here"],
}


@pytest.mark.parametrize("text", CASES)
def test_sentences(text: str) -> None:
    assert split_sentences(text) == CASES[text]
