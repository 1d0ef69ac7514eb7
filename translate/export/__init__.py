"""A trained model in the formats of other engines, each proved by translating with both."""

from translate.export.contents import Contents, Engine, Rendered
from translate.export.proof import Proof, prove

__all__ = ["Contents", "Engine", "Proof", "Rendered", "prove"]
