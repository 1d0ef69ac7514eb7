import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.errors import UserError
from translate.links.links import Gold, format_pharaoh, moved_line, parse_gold, read_gold, swapped_line

LINKS = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 4)))


def written(gold: Gold, *, base: int = 0) -> str:
    """Gold links as a TALP file has them."""
    assert gold.sure <= gold.possible
    kinds = {link: "-" if link in gold.sure else "p" for link in gold.possible}
    return " ".join(f"{i + base}{kinds[i, j]}{j + base}" for i, j in sorted(kinds))


def test_gold_line_by_hand():
    gold = parse_gold("2p1 0-0 2-3 2p3", where="gold, line 1")
    assert gold.sure == {(0, 0), (2, 3)}
    assert gold.possible == {(0, 0), (2, 3), (2, 1)}
    assert written(gold) == "0-0 2p1 2-3"


@given(LINKS, LINKS, st.booleans())
def test_written_gold_reads_back(sure, possible, one_based):
    gold = Gold(sure, sure | possible)
    assert parse_gold(written(gold, base=int(one_based)), where="x", one_based=one_based) == gold
    assert parse_gold(format_pharaoh(sure), where="x").sure == sure


def test_indexes_from_one():
    assert parse_gold("1-1 3-2", where="x", one_based=True).sure == {(0, 0), (2, 1)}
    with pytest.raises(UserError, match="this file counts words from 1"):
        parse_gold("0-1", where="x", one_based=True)


@pytest.mark.parametrize("token", ["1", "1-", "-1-2", "1--2", "a-b", "1-2-3", "1:2", "1P2", "١-1", "1.0-2"])
def test_malformed_token_names_place_and_token(token):
    with pytest.raises(UserError, match=r"file\.txt, line 7") as caught:
        parse_gold(f"0-0 {token}", where="file.txt, line 7")
    assert f"'{token}'" in str(caught.value)


@pytest.mark.parametrize(("token", "word"), [("3-0", "source word 3"), ("0p2", "target word 2")])
def test_index_outside_the_sentence(token, word):
    parse_gold("2-1", where="x", lengths=(3, 2))
    with pytest.raises(UserError, match=word):
        parse_gold(token, where="x", lengths=(3, 2))


def test_files(tmp_path):
    path = tmp_path / "gold.txt"
    path.write_bytes("\ufeff0-0 1p0\r\n\r\n2-1\n".encode())
    golds = read_gold(path, lengths=[(2, 1), (0, 5), (3, 2)])
    assert [written(gold) for gold in golds] == ["0-0 1p0", "", "2-1"]
    with pytest.raises(UserError, match=r"gold\.txt, line 3"):
        read_gold(path, lengths=[(2, 1), (0, 5), (2, 2)])
    with pytest.raises(UserError, match="3 lines of links for 2 source sentences"):
        read_gold(path, lengths=[(2, 1), (0, 5)])
    with pytest.raises(UserError, match=r"missing\.txt"):
        read_gold(tmp_path / "missing.txt")
    path.write_bytes(b"\xff\xfe0")
    with pytest.raises(UserError, match=r"gold\.txt"):
        read_gold(path)


def test_naacl_gold(tmp_path):
    path = tmp_path / "gold.naacl"
    path.write_text("0001 1 1 S\n1 2 3 P\n\n3 2 1\n0003 1 2 S 0.75\n3 0 1 S\n")
    golds = read_gold(path, lengths=[(2, 3), (1, 1), (2, 2)])
    assert [written(gold) for gold in golds] == ["0-0 1p2", "", "0-1 1-0"]
    assert [written(gold) for gold in read_gold(path)] == ["0-0 1p2", "", "0-1 1-0"]
    with pytest.raises(UserError, match=r"gold\.naacl, line 2: link '2-3' points to target word 3, but .* 2"):
        read_gold(path, lengths=[(2, 2), (1, 1), (2, 2)])
    with pytest.raises(UserError, match=r"gold\.naacl, line 4: link of pair 3, but there are 2 pairs"):
        read_gold(path, lengths=[(2, 3), (2, 2)])
    for line, message in (("1 1 1 X", "line 2: '1 1 1 X' is not a link"), ("0 1 1", "pairs count from 1")):
        path.write_text(f"1 1 1\n{line}\n")
        with pytest.raises(UserError, match=message):
            read_gold(path)


@pytest.mark.parametrize("by", [0, 7, 95])
def test_line_with_words_before_its_source_and_with_sides_exchanged(by):
    line = "0-3 12p0 5-11"
    (sure, possible), moved = parse_gold(line, where="x"), parse_gold(moved_line(line, by), where="x")
    assert moved.sure == {(s + by, t) for s, t in sure}
    assert moved.possible == {(s + by, t) for s, t in possible}
    assert swapped_line(line) == "3-0 0p12 11-5"
