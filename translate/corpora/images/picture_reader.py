"""Reads the picture that a source line names: a scene is drawn, a file is decoded."""

from dataclasses import dataclass
from pathlib import Path

from translate.corpora.images.drawing import draw
from translate.corpora.images.patches import Picture
from translate.corpora.images.picture_files import read_file
from translate.corpora.images.picture_store import PictureStore
from translate.corpora.images.scene import SIDE, is_scene, read_scene


@dataclass(frozen=True)
class PictureReader:
    """Gives pictures by name.

    Attributes:
        patch_size: pixels of a patch.
        side: of the longer side, to which files are resized.
        store: of a corpus, which is asked first.
    """

    patch_size: int
    side: int
    store: PictureStore | None = None

    def read(self, name: str) -> Picture:
        """The picture called ``name``; raises :class:`UserError` if it cannot be read."""
        if is_scene(name):
            return Picture(draw(read_scene(name)).pixels, self.patch_size)
        if self.store is not None and name in self.store.index:
            return self.store.read(name)
        return read_file(Path(name).expanduser(), self.side, self.patch_size)

    def count(self, name: str) -> int:
        """The number of patches of a picture of the corpus."""
        if is_scene(name):
            return (SIDE // self.patch_size) ** 2
        if self.store is not None and name in self.store.index:
            return self.store.count(name)
        return len(self.read(name))
