"""The benchmark of the encoder of patches: both sides are of the same size, and learn."""

import argparse

from bench_vision import encoders, medians


def test_both_encoders_have_the_same_parameters_but_positions(capsys) -> None:
    given = argparse.Namespace(batch=2, side=16, patch=4)
    variants = encoders(given, width=8, heads=2, inner=12, layers=3)
    counts = [
        int(word.strip(",").replace(",", "")) for word in capsys.readouterr().out.split() if word[0].isdigit()
    ]
    assert counts[1] - counts[0] == 16 * 8  # learned positions; sinusoids are no parameters
    assert all(time > 0 for time in medians(variants, 2).values())
