"""Pictures in files: every kind that is read, and one clear sentence for every kind that is not."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image as Pillow

from translate.corpora.images import image_files
from translate.corpora.images.image_files import read_file
from translate.corpora.images.image_names import _cleaned, below
from translate.corpora.images.image_store import open_store
from translate.corpora.images.patches import Image, cells_of, end_source
from translate.errors import UserError

SIDE, PATCH = 32, 8


def gradient(width: int = 32, height: int = 24) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    return np.stack([x * 255 // width, y * 255 // height, np.full_like(x, 60)], 2).astype(np.uint8)


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "a photo.png"
    Pillow.fromarray(gradient()).save(path)
    return path


@pytest.mark.parametrize(
    ("width", "height", "rows", "columns"),
    [(640, 480, 3, 4), (480, 640, 4, 3), (100, 100, 4, 4), (9, 9, 4, 4), (200, 11, 1, 4)],
)
def test_the_longer_side_is_resized_and_both_become_whole_patches(tmp_path, width, height, rows, columns):
    path = tmp_path / "p.png"
    Pillow.fromarray(gradient(width, height)).save(path)
    found = read_file(path, SIDE, PATCH)
    assert (found.rows, found.columns) == (rows, columns)
    middle = found.pixels[found.pixels.shape[0] // 2, found.pixels.shape[1] // 2].astype(int)
    assert abs(middle - [127, 127, 60]).max() < 30


@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "BMP", "TIFF", "PPM", "GIF"])
def test_other_formats(tmp_path, kind):
    path = tmp_path / f"p.{kind.lower()}"
    Pillow.fromarray(gradient()).save(path, kind)
    difference = np.abs(read_file(path, SIDE, PATCH).pixels.astype(int) - gradient())
    assert np.median(difference) < 12


def test_cmyk_grey_palette_and_16_bits_become_rgb(tmp_path):
    grey = gradient()[..., 0]
    pictures = {
        "cmyk.jpg": Pillow.fromarray(gradient()).convert("CMYK"),
        "grey.png": Pillow.fromarray(grey),
        "palette.png": Pillow.fromarray(gradient()).convert("P"),
        "deep.png": Pillow.fromarray((grey.astype(np.uint16) << 8) + 9),
        "bits.png": Pillow.fromarray(grey > 127),
    }
    for name, image in pictures.items():
        image.save(tmp_path / name)
        found = read_file(tmp_path / name, SIDE, PATCH).pixels.astype(int)
        assert found.shape == (24, 32, 3)
        assert abs(found[:, 28:, 0].mean() - grey[:, 28:].mean()) < 40, name
    deep = read_file(tmp_path / "deep.png", SIDE, PATCH).pixels
    np.testing.assert_array_equal(deep[..., 0], grey)


def test_transparent_parts_are_white(tmp_path):
    pixels = np.zeros((16, 16, 4), np.uint8)
    pixels[:, 8:, 3] = 255
    Pillow.fromarray(pixels).save(tmp_path / "t.png")
    found = read_file(tmp_path / "t.png", 16, PATCH).pixels
    assert (found[:, :8] == 255).all()
    assert (found[:, 8:] == 0).all()


@pytest.mark.parametrize("name", ["turned.jpg", "deep.png"])
def test_a_turned_photo_stands_upright(tmp_path, name):
    pixels = gradient()
    image = Pillow.fromarray(pixels if name == "turned.jpg" else pixels[..., 0].astype(np.uint16) * 257)
    exif = image.getexif()
    exif[0x0112] = 6  # turned by 90 degrees
    image.save(tmp_path / name, exif=exif, quality=100)
    found = read_file(tmp_path / name, SIDE, PATCH)
    assert (found.rows, found.columns) == (4, 3)


def bomb(side: int) -> bytes:
    """A PNG whose header promises ``side`` x ``side`` pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def bad_images(folder, photo):
    whole = photo.read_bytes()
    (folder / "damaged.png").write_bytes(whole[: len(whole) // 2])
    (folder / "text.png").write_text("no picture")
    (folder / "empty.png").write_bytes(b"")
    (folder / "large.png").write_bytes(bomb(8_000))
    (folder / "bomb.png").write_bytes(bomb(60_000))
    frames = [Pillow.fromarray(gradient()), Pillow.fromarray(gradient()[::-1].copy())]
    frames[0].save(folder / "film.gif", save_all=True, append_images=frames[1:])
    Pillow.fromarray(np.zeros((2, 900), np.uint8)).save(folder / "thin.png")
    Pillow.fromarray(np.zeros((9, 9), np.float32)).save(folder / "float.tiff")
    (folder / "folder.png").mkdir()


BAD = {
    "missing.png": "no such image",
    "damaged.png": "the image is damaged",
    "text.png": "not an image; expected one of PNG, JPEG",
    "empty.png": "not an image",
    "large.png": "8,000 x 8,000 pixels; expected at most 50,000,000; make it smaller",
    "bomb.png": "more than 50,000,000 pixels; make the image smaller",
    "film.gif": "2 images (an animation, or pages); expected one image",
    "thin.png": "900 x 2 pixels; expected sides whose ratio is at most 20",
    "float.tiff": "numbers instead of colours",
    "folder.png": "expected an image, got a folder",
}


@pytest.mark.parametrize(("name", "message"), BAD.items(), ids=BAD)
def test_a_bad_image_is_one_clear_sentence(tmp_path, photo, name, message):
    bad_images(tmp_path, photo)
    with pytest.raises(UserError) as error:
        read_file(tmp_path / name, SIDE, PATCH)
    told = str(error.value)
    assert name in told
    assert message in told
    assert "\n" not in told


def test_a_file_that_is_too_large_is_not_opened(photo, monkeypatch):
    monkeypatch.setattr(image_files, "MAX_BYTES", 10)
    with pytest.raises(UserError, match="expected an image file of at most 0 MiB"):
        read_file(photo, SIDE, PATCH)


def test_a_store_reads_an_image_once_and_tells_which_are_bad(tmp_path, photo, monkeypatch, capsys):
    bad_images(tmp_path, photo)
    names = [photo.name, "damaged.png", photo.name, "missing.png"]
    for cache in (None, tmp_path / "cache"):
        store = open_store(names, tmp_path, SIDE, PATCH, cache)
        np.testing.assert_array_equal(store.read(photo.name).pixels, gradient())
        assert store.count(photo.name) == 12
        assert "damaged" in store.problem("damaged.png")
        with pytest.raises(UserError, match="no such image"):
            store.read("missing.png")
    assert capsys.readouterr().out == f"reading 3 images of {tmp_path}\n" * 2
    monkeypatch.setattr("translate.corpora.images.image_store.read_file", None)  # nothing is decoded again
    store = open_store(names, tmp_path, SIDE, PATCH, tmp_path / "cache")
    np.testing.assert_array_equal(store.read(photo.name).pixels, gradient())
    assert capsys.readouterr().out.startswith("3 images from ")


def test_a_changed_image_and_a_damaged_cache_are_read_anew(tmp_path, photo):
    cache = tmp_path / "cache"
    open_store([photo.name], tmp_path, SIDE, PATCH, cache)
    (file,) = (cache / "images").iterdir()
    file.unlink()
    file.write_bytes(b"nonsense")
    store = open_store([photo.name], tmp_path, SIDE, PATCH, cache)
    np.testing.assert_array_equal(store.read(photo.name).pixels, gradient())
    Pillow.fromarray(gradient()[::-1].copy()).save(photo)
    store = open_store([photo.name], tmp_path, SIDE, PATCH, cache)
    np.testing.assert_array_equal(store.read(photo.name).pixels, gradient()[::-1])


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "a/../../b.png", ""])
def test_a_name_cannot_leave_the_folder(tmp_path, name):
    with pytest.raises(UserError, match="expected the name of an image inside"):
        below(tmp_path, name)


def test_cells_hold_every_pixel_at_its_place():
    picture = Image(gradient(), PATCH)
    cells = cells_of([*picture.ids(), 7, 9])
    assert cells.shape == (14, 2 + 3 * PATCH**2 // 4)
    assert cells[:12, 0].tolist() == [-1] * 12
    assert cells[12:, :2].tolist() == [[7, 0], [9, 1]]
    for row in range(3):
        for column in range(4):
            cell = cells[row * 4 + column]
            assert cell[1] == row << 16 | column
            patch = cell[2:].copy().view(np.uint8).reshape(PATCH, PATCH, 3)
            wanted = gradient()[row * PATCH : (row + 1) * PATCH, column * PATCH : (column + 1) * PATCH]
            np.testing.assert_array_equal(patch, wanted)
    assert end_source(cells, 3)[-1, :2].tolist() == [3, 2]
    assert end_source(np.array([5, 6]), 3).tolist() == [5, 6, 3]


def test_a_number_after_the_name_is_that_of_a_caption() -> None:
    assert _cleaned(["100.jpg#0", " photo#1.jpg\n"]) == ["100.jpg", "photo#1.jpg"]
