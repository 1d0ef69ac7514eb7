"""Source lines with pictures, and what a model of pictures reads of them."""

import pytest

from translate.config.data import TokenizerConfig
from translate.corpora.images.image_tokenizer import ImageReader, ImageTokenizer
from translate.corpora.images.line import join_line, sentences_of, split_line
from translate.errors import UserError
from translate.text.tokenizer import train_tokenizer

SCENE = "scene:sand/circle.red.big.0.1.0.0"


@pytest.mark.parametrize("sentence", ["", "it is red .", "![](x) y", "a\tb"])
@pytest.mark.parametrize(
    "name", ["photo.png", "a (1) photo.jpg", "100%29.png", "<b>.png", "dir/ü ö.png", SCENE]
)
def test_a_line_gives_back_its_parts(name, sentence):
    line = join_line(name, sentence)
    found = split_line(line)
    assert (found.image, found.sentence) == (name, sentence)
    assert not sentence or line[found.start :] == sentence
    assert "\n" not in line


def test_lines_of_a_table_and_lines_without_picture():
    assert split_line("photo.png\tit is red .")[:2] == ("photo.png", "it is red .")
    assert split_line("photo.png\t")[:2] == ("photo.png", "")
    assert split_line("\tit is red .")[:2] == (None, "it is red .")
    assert split_line("it is red .") == (None, "it is red .", 0)
    assert split_line("![](  ) it")[0] in (None, "  ")
    assert split_line("")[:2] == (None, "")
    assert join_line(None, "it is red .") == "it is red ."
    assert sentences_of([join_line("a.png", "it"), "they"]) == ["it", "they"]


@pytest.fixture(scope="module")
def text():
    config = TokenizerConfig(vocabulary_size=30, model_type="word")
    return train_tokenizer(["it is red .", "they are red ."], config, tokenised=True)


def tokenizer(text, reads):
    return ImageTokenizer(text, reads, ImageReader(16, 48))


def test_patches_come_first_and_every_patch_is_a_word(text):
    line = join_line(SCENE, "it is red .")
    found = tokenizer(text, "both").encode_words(line)
    plain = text.encode_words("it is red .")
    assert [isinstance(piece, bytes) for piece in found.ids] == [True] * 9 + [False] * len(plain.ids)
    assert found.ids[9:] == plain.ids
    assert [word.text for word in found.words] == [
        "1,1", "1,2", "1,3", "2,1", "2,2", "2,3", "3,1", "3,2", "3,3", "it", "is", "red", ".",
    ]  # fmt: skip
    assert [line[word.start : word.end] for word in found.words[9:]] == ["it", "is", "red", "."]
    assert found.piece_words[:9] == list(range(9))
    assert found.piece_words[9:] == [word + 9 for word in plain.piece_words]
    assert (found.picture.rows, found.picture.columns) == (3, 3)


def test_a_corpus_is_encoded_as_its_lines_are(text):
    both = tokenizer(text, "both")
    lines = [join_line(SCENE, "it is red ."), "they are red .", join_line(SCENE)]
    sources = both.encode_sources(lines)
    assert sources.num_rows == 3
    from translate.corpora.images.patches import cells_of, piece_cells

    for index, line in enumerate(lines):
        ids, row = both.encode(line), sources.row(index)
        assert sources.lengths[index] == len(ids) == len(row)
        wanted = cells_of(ids) if isinstance(ids[0], bytes) else piece_cells(ids, row.shape[1])
        assert (row == wanted).all()


def test_a_run_of_captions_reads_a_plain_name_and_refuses_sentences(text):
    captions = tokenizer(text, "picture")
    assert captions.encode(SCENE) == captions.encode(join_line(SCENE))
    with pytest.raises(UserError, match=r"this run describes images .* leave out 'it is red \.'"):
        captions.encode(join_line(SCENE, "it is red ."))
    with pytest.raises(UserError, match=r"it is red \.: no such image; this run .* reads no sentences$"):
        captions.encode("it is red .")
    with pytest.raises(UserError, match=r"gone\.png: no such image$"):
        captions.encode(join_line("gone.png"))
