"""The glossaries of a server's clients."""

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from translate.search.sources import check_phrases
from translate.serve.catalogue import Served
from translate.serve.service import MAX_GLOSSARIES, Service, refusing
from translate.serve.store import new_name
from translate.serve.web.requests import RefusalError


@dataclass(frozen=True)
class Glossary:
    """Terms for two languages.

    Attributes:
        name: that its owner has given.
        source, target: codes of the languages.
        entries: phrases by their terms.
        identifier: by which requests name it.
        created: when.
    """

    name: str
    source: str
    target: str
    entries: dict[str, str]
    identifier: str = field(default_factory=new_name)
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat())

    def described(self) -> dict[str, Any]:
        """The description for clients."""
        return {
            "glossary_id": self.identifier,
            "ready": True,
            "name": self.name,
            "source_lang": self.source,
            "target_lang": self.target,
            "creation_time": self.created,
            "entry_count": len(self.entries),
        }


def add_glossary(service: Service, glossary: Glossary, served: Served) -> None:
    """Keep a glossary while the server runs.

    Raises:
        RefusalError: if there are too many, or for a phrase that the model cannot write.
    """
    if len(service.glossaries.names()) >= MAX_GLOSSARIES:
        raise RefusalError(409, f"there are {MAX_GLOSSARIES:,} glossaries; delete one")
    with refusing():
        check_phrases(served.translator.tokenizers.target, [*glossary.entries.values()])
    service.glossaries.put(glossary.identifier, asdict(glossary))


def find_glossary(service: Service, identifier: object) -> Glossary:
    """The glossary of an identifier.

    Raises:
        RefusalError: if there is none.
    """
    found = service.glossaries.get(identifier)
    if found is None:
        raise RefusalError(404, "there is no such glossary")
    return Glossary(**found[0])
