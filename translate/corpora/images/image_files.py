"""Reads image files with Pillow, within bounds: as RGB, upright, on white, resized to whole patches."""

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from translate.config.data import MAX_PATCHES
from translate.config.names import shown_path
from translate.corpora.images.patches import Image
from translate.errors import UserError

if TYPE_CHECKING:
    from PIL import Image as Pillow

MAX_BYTES = 64 << 20  # of a file
MAX_PIXELS = 50_000_000  # of an image, before it is resized
MAX_RATIO = 20  # of the longer to the shorter side
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")  # decoders that a stranger's file may reach
DEEP = ("I;16", "I;16B", "I;16L", "I;16N", "I")  # modes of 16 bits


def read_file(path: Path, side: int, patch_size: int) -> Image:
    """The image in ``path``, its longer side about ``side`` pixels, both sides whole patches.

    Transparent parts become white, 16 bits become 8, other colour spaces become RGB.

    Raises:
        UserError: if the file is missing, no image, damaged, an animation, or beyond the limits.
    """
    where = shown_path(path)
    try:
        size = os.stat(path).st_size
    except (OSError, ValueError):
        raise UserError(f"{where}: no such image") from None
    if not os.path.isfile(path):
        raise UserError(f"{where}: expected an image, got a folder or a special file")
    if size > MAX_BYTES:
        raise UserError(
            f"{where}: {size / 2**20:,.0f} MiB; expected an image file of at most {MAX_BYTES >> 20} MiB"
        )
    from PIL import Image as Pillow
    from PIL import UnidentifiedImageError

    try:
        # Warnings are of sizes, which are checked here, and of metadata.
        with warnings.catch_warnings(action="ignore"), Pillow.open(path, formats=FORMATS) as image:
            _check(image, where)
            return fitted(_rgb(image), side, patch_size)
    except UserError:
        raise
    except UnidentifiedImageError:
        raise UserError(f"{where}: not an image; expected one of {', '.join(FORMATS)}") from None
    except Pillow.DecompressionBombError:
        raise UserError(f"{where}: more than {MAX_PIXELS:,} pixels; make the image smaller") from None
    except Exception as error:  # decoders raise what they like for damaged files
        raise UserError(f"{where}: the image is damaged ({str(error)[:100]})") from None


def _check(image: "Pillow.Image", where: str) -> None:
    """Raise :class:`UserError` for what must not be decoded; reads only the header."""
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise UserError(
            f"{where}: {width:,} x {height:,} pixels; expected at most {MAX_PIXELS:,}; make it smaller"
        )
    if max(width, height) > MAX_RATIO * min(width, height):
        raise UserError(
            f"{where}: {width:,} x {height:,} pixels; expected sides whose ratio is at most {MAX_RATIO}"
        )
    frames = getattr(image, "n_frames", 1)
    if frames > 1:
        raise UserError(f"{where}: {frames:,} images (an animation, or pages); expected one image")
    if image.mode == "F":
        raise UserError(f"{where}: numbers instead of colours; expected an image of 8 or 16 bits")


def _rgb(image: "Pillow.Image") -> "Pillow.Image":
    """The image upright, in 8-bit RGB, on white."""
    from PIL import Image as Pillow
    from PIL import ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode in DEEP:
        deep = np.asarray(image).astype(np.int64)
        image = Pillow.fromarray((deep.clip(0, 65_535) >> 8).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        layer = image.convert("RGBA")
        image = Pillow.alpha_composite(Pillow.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB")


def fitted(image: "Pillow.Image", side: int, patch_size: int) -> Image:
    """The image resized so that its longer side is about ``side`` and both are multiples of the patch."""
    from PIL import Image as Pillow

    scale = side / max(image.size)
    width, height = (max(1, round(length * scale / patch_size)) * patch_size for length in image.size)
    if image.size != (width, height):
        image = image.resize((width, height), Pillow.Resampling.BICUBIC)
    found = Image(np.asarray(image, np.uint8), patch_size)
    assert len(found) <= MAX_PATCHES
    return found
