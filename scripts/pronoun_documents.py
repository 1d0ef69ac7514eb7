"""Writes documents in which only the previous sentence tells how to translate a pronoun.

Each document is a sentence about a thing and two about *it*: "the table falls .", "it burns .", "it is old ."
In French the thing is masculine or feminine, as often the one as the other, and so is *it* and the adjective.
A model that reads single sentences is right about half of the pronouns.

    python scripts/pronoun_documents.py --out pronouns
    translate train data=files data.path=pronouns data.document_field=doc data.context_sentences=2 ...
"""

import argparse
import random
from pathlib import Path

MASCULINE = {
    "book": "livre", "knife": "couteau", "hat": "chapeau", "bread": "pain", "wall": "mur", "train": "train",
    "coat": "manteau", "garden": "jardin", "bridge": "pont", "boat": "bateau", "glass": "verre", "bed": "lit",
}  # fmt: skip
FEMININE = {
    "table": "table", "door": "porte", "car": "voiture", "lamp": "lampe", "chair": "chaise", "key": "clé",
    "house": "maison", "letter": "lettre", "window": "fenêtre", "bottle": "bouteille", "shirt": "chemise",
    "city": "ville",
}  # fmt: skip
VERBS = {
    "falls": "tombe", "burns": "brûle", "disappears": "disparaît", "moves": "bouge", "shines": "brille",
    "breaks": "casse", "stays": "reste", "helps": "aide",
}  # fmt: skip
ADJECTIVES = {
    "old": ("vieux", "vieille"), "beautiful": ("beau", "belle"), "green": ("vert", "verte"),
    "small": ("petit", "petite"), "white": ("blanc", "blanche"), "new": ("neuf", "neuve"),
}  # fmt: skip


def document(draw: random.Random) -> list[tuple[str, str]]:
    """The three pairs of a document."""
    feminine = draw.random() < 0.5
    noun, nom = draw.choice(list((FEMININE if feminine else MASCULINE).items()))
    first, second = (draw.choice(list(VERBS.items())) for _ in range(2))
    adjective, forms = draw.choice(list(ADJECTIVES.items()))
    article, pronoun = ("la", "elle") if feminine else ("le", "il")
    return [
        (f"the {noun} {first[0]} .", f"{article} {nom} {first[1]} ."),
        (f"it {second[0]} .", f"{pronoun} {second[1]} ."),
        (f"it is {adjective} .", f"{pronoun} est {forms[feminine]} ."),
    ]


def main() -> None:
    """Write ``{train,valid,test}.{en,fr,doc}``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=Path, help="folder to write")
    parser.add_argument("--documents", type=int, default=3000, help="training documents")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    for split, count in (("train", options.documents), ("valid", 100), ("test", 300)):
        pairs = [(f"{split}-{number}", *pair) for number in range(count) for pair in document(draw)]
        for suffix, column in zip(("doc", "en", "fr"), zip(*pairs, strict=True), strict=True):
            text = "".join(f"{line}\n" for line in column)
            (options.out / f"{split}.{suffix}").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
