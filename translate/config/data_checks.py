"""Which settings of pictures and documents go together, of a ``translate.config.data.DataConfig``."""

from typing import Any

MAX_PATCHES = 1 << 12  # of a picture: 64 rows and columns
SCENE_SIDE = 48  # pixels
SPLITS = ("train", "validation", "test")


def check_pictures(data: Any) -> None:
    """Raise ``ValueError`` for settings of pictures that do not fit together."""
    left_out = {"without_picture": data.without_picture, "without_sentence": data.without_sentence}
    for name, share in left_out.items():
        if share and data.read != "both":
            raise ValueError(f"{name}: it needs data.read=both, got read={data.read}; or set it to 0")
    if sum(left_out.values()) > 1:
        raise ValueError("without_sentence: with without_picture it is more than all pairs")
    if data.kind != "scenes" and (data.read != "text") != (data.images is not None):
        raise ValueError(
            "images: data.images=DIR and data.read=picture or both go together; "
            f"got images={data.images} and read={data.read}"
        )
    patches = (data.picture_size // data.patch_size) ** 2
    if data.read != "text" and not 1 <= patches <= MAX_PATCHES:
        raise ValueError(
            f"picture_size: {data.picture_size} pixels are {patches:,} patches of {data.patch_size}; "
            f"expected 1 to {MAX_PATCHES:,}"
        )
    given = [name for name in SPLITS if getattr(data, name).pictures is not None]
    if given and data.images is None:
        raise ValueError(f"{given[0]}.pictures: it needs the folder of the pictures, data.images=DIR")
    if data.read == "picture" and data.max_length_ratio is not None:
        raise ValueError("max_length_ratio: a picture has no length in words; set it to null")
    if data.kind == "scenes" and data.picture_size != SCENE_SIDE:
        raise ValueError(
            f"picture_size: scenes have {SCENE_SIDE} x {SCENE_SIDE} pixels, got {data.picture_size}"
        )
    if data.kind == "scenes" and data.patch_size > 16:
        raise ValueError(
            f"patch_size: scenes of 48 x 48 pixels have patches of 4, 8 or 16, got {data.patch_size}"
        )


def check_documents(data: Any) -> None:
    """Raise ``ValueError`` for settings of documents that do not fit together."""
    given = [f"{name}.documents" for name in SPLITS if getattr(data, name).documents is not None]
    if given and data.document_field is not None:
        raise ValueError(f"{given[0]}: data.document_field names the documents already; give one of both")
    if (data.context_sentences or given or data.document_field) and data.read != "text":
        raise ValueError(f"read: documents are of text alone, got read={data.read}")
