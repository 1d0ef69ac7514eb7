import math
from collections import defaultdict

import numpy as np
import pytest
from matplotlib.image import imread

from translate.alignment.alignment import Alignment
from translate.errors import UserError
from translate.figures.plots import MOST_FERTILE, NUM_OFFSETS, CorpusStatistics, draw_corpus


def random_alignments(count: int) -> list[Alignment]:
    generator = np.random.default_rng(7)
    found = []
    for _ in range(count):
        T, S = generator.integers(1, 12, 2)
        weights = generator.dirichlet(np.full(S, 0.3), size=T)
        weights[generator.random(T) < 0.2] = 0
        words = [[f"{side}{i % 3}" for i in generator.integers(0, 9, n)] for side, n in (("s", S), ("t", T))]
        found.append(Alignment(words[0], words[1], weights))
    return found


def test_sums_are_those_of_plain_loops():
    alignments = random_alignments(31)
    statistics = CorpusStatistics()
    for alignment in alignments:
        statistics.add(alignment)
    distance = entropy = num_words = num_zero = 0.0
    offsets, fertilities = [0.0] * NUM_OFFSETS, [0] * (MOST_FERTILE + 1)
    entropies, fertility = defaultdict(list), defaultdict(list)
    for alignment in alignments:
        S, T = len(alignment.source_words), len(alignment.target_words)
        linked = [0] * S
        for t in range(T):
            row = [float(weight) for weight in alignment.weights[t]]
            if sum(row) == 0:
                num_zero += 1
                continue
            num_words += 1
            linked[row.index(max(row))] += 1
            own = -sum(weight * math.log2(weight) for weight in row if weight)
            entropy += own
            entropies[alignment.target_words[t]].append(own)
            for s in range(S):
                offset = (s + 0.5) / S - (t + 0.5) / T
                distance += row[s] * abs(offset)
                offsets[math.floor((offset + 1) / 2 * NUM_OFFSETS)] += row[s]
        for s in range(S):
            fertilities[min(linked[s], MOST_FERTILE)] += 1
            fertility[alignment.source_words[s]].append(linked[s])
    assert (statistics.num_pairs, statistics.num_words, statistics.num_unaligned) == (31, num_words, num_zero)
    assert statistics.mean_distance == pytest.approx(distance / num_words)
    assert statistics.mean_entropy == pytest.approx(entropy / num_words)
    np.testing.assert_allclose(statistics.offsets, offsets, atol=1e-6)
    assert statistics.fertilities.tolist() == fertilities
    total = sum(map(sum, fertility.values()))
    assert statistics.mean_fertility == pytest.approx(total / sum(map(len, fertility.values())))
    for sums, lists in ((statistics.entropies, entropies), (statistics.fertility, fertility)):
        means = sums.means(least=1)
        assert {each.word: each.count for each in means} == {word: len(v) for word, v in lists.items()}
        assert [each.mean for each in means] == pytest.approx(
            sorted((sum(v) / len(v) for v in lists.values()), reverse=True)
        )
        assert sums.means(least=10**6) == []


def test_known_corpora():
    diagonal, even = CorpusStatistics(), CorpusStatistics()
    words = [str(i) for i in range(64)]
    diagonal.add(Alignment(words, words, np.eye(64)))
    even.add(Alignment(words, words, np.full((64, 64), 1 / 64)))
    assert (diagonal.mean_distance, diagonal.mean_entropy, diagonal.mean_fertility) == (0, 0, 1)
    assert even.mean_distance == pytest.approx(1 / 3, abs=1e-3)
    assert even.mean_entropy == pytest.approx(6)


def test_pairs_without_words_are_only_counted():
    statistics = CorpusStatistics()
    statistics.add(Alignment([], ["a"], np.zeros((1, 0))))
    statistics.add(Alignment(["a"], [], np.zeros((0, 1))))
    assert (statistics.num_empty, statistics.num_pairs, statistics.num_words) == (2, 0, 0)


@pytest.mark.slow
def test_the_picture_names_the_words_and_is_the_same_each_time(tmp_path):
    statistics = CorpusStatistics()
    for alignment in random_alignments(40):
        statistics.add(alignment)
    svg = draw_corpus(statistics, tmp_path / "new" / "a.svg").read_text()
    for text in ("40 pairs, ", "t0  ", "s2  ", "entropy", "fertility", "distance from the diagonal: mean"):
        assert text in svg
    assert draw_corpus(statistics, tmp_path / "b.svg").read_text() == svg
    assert (imread(draw_corpus(statistics, tmp_path / "a.png"))[:2, :, :3] == 1).all()


def test_nothing_to_draw(tmp_path):
    with pytest.raises(UserError, match="no target word is aligned"):
        draw_corpus(CorpusStatistics(), tmp_path / "a.png")
    with pytest.raises(UserError, match=r"expected \.png, \.pdf or \.svg"):
        draw_corpus(CorpusStatistics(), tmp_path / "a.txt")
