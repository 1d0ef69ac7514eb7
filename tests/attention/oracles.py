"""Every mechanism once more, in plain loops over numbers: nothing here is shared with the package.

An oracle reads the parameters of a mechanism by name and one sentence: queries (T, Q), states (S, K), and
which states are real. It gives weights (H, T, S) and contexts (T, C) as float64 arrays. Query t stands at
position t.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
Parameters = dict[str, Array]
Result = tuple[Array, Array]


def product(matrix: Array, vector: Sequence[float]) -> list[float]:
    return [sum(float(row[i]) * float(vector[i]) for i in range(len(vector))) for row in matrix]


def dot(left: Sequence[float] | Array, right: Sequence[float] | Array) -> float:
    return sum(float(a) * float(b) for a, b in zip(left, right, strict=True))


def affine(p: Parameters, name: str, vector: Sequence[float]) -> list[float]:
    out = product(p[f"{name}.weight"], vector)
    bias = p.get(f"{name}.bias")
    return out if bias is None else [a + float(b) for a, b in zip(out, bias, strict=True)]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def softmax(scores: list[float], seen: list[bool]) -> list[float]:
    largest = max((score for score, s in zip(scores, seen, strict=True) if s), default=0.0)
    powers = [math.exp(score - largest) if s else 0.0 for score, s in zip(scores, seen, strict=True)]
    total = sum(powers)
    return [power / total if total else 0.0 for power in powers]


def mix(weights: Sequence[float], values: Sequence[Sequence[float]] | Array) -> list[float]:
    width = len(values[0])
    return [sum(w * float(v[i]) for w, v in zip(weights, values, strict=True)) for i in range(width)]


def one_head(rows: list[list[float]], values: Array) -> Result:
    return np.array([rows]), np.array([mix(row, values) for row in rows])


def by_score(queries: Array, states: Array, seen: list[bool], score: Callable[[int, int], float]) -> Result:
    """Softmax of ``score(t, s)``, then the weighted sum of the states themselves."""
    rows = [softmax([score(t, s) for s in range(len(states))], seen) for t in range(len(queries))]
    return one_head(rows, states)


def additive_score(p: Parameters, query: Sequence[float], state: Sequence[float]) -> float:
    hidden = zip(
        affine(p, "query_projection", query), affine(p, "key_projection", state), p["direction"], strict=True
    )
    return sum(float(v) * math.tanh(q + k) for q, k, v in hidden)


def additive(p: Parameters, queries: Array, states: Array, seen: list[bool], **_: Any) -> Result:
    return by_score(queries, states, seen, lambda t, s: additive_score(p, queries[t], states[s]))


def two_sources(
    p: Parameters,
    queries: Array,
    states: Array,
    seen: list[bool],
    pictures: Sequence[bool] | None = None,
    **_: Any,
) -> Result:
    """Both softmaxes and the gate; without ``pictures`` all positions are words."""
    kinds = [False] * len(states) if pictures is None else list(pictures)
    parts = {
        kind: {n.removeprefix(f"{kind}."): v for n, v in p.items() if n.startswith(f"{kind}.")}
        for kind in ("words", "picture")
    }
    words = [s and not kind for s, kind in zip(seen, kinds, strict=True)]
    patches = [s and kind for s, kind in zip(seen, kinds, strict=True)]
    rows = []
    for query in queries:
        gate = sigmoid(affine(p, "gate", query)[0])
        if not (any(words) and any(patches)):
            gate = float(any(patches))
        both = (
            softmax([additive_score(parts[kind], query, state) for state in states], visible)
            for kind, visible in (("picture", patches), ("words", words))
        )
        rows.append([gate * one + (1 - gate) * other for one, other in zip(*both, strict=True)])
    return one_head(rows, states)


def plain_dot(p: Parameters, queries: Array, states: Array, seen: list[bool], **_: Any) -> Result:
    return by_score(queries, states, seen, lambda t, s: dot(queries[t], states[s]))


def general_score(p: Parameters, query: Sequence[float], state: Sequence[float]) -> float:
    return dot(query, product(p["key_projection.weight"], state))


def general(p: Parameters, queries: Array, states: Array, seen: list[bool], **_: Any) -> Result:
    return by_score(queries, states, seen, lambda t, s: general_score(p, queries[t], states[s]))


def fixed_length(scores: list[list[float]], states: Array, seen: list[bool], max_length: int) -> Result:
    count = len(states)
    rows = []
    for row in scores:
        fitted = [row[s] if s < max_length else 0.0 for s in range(count)]
        rows.append(softmax(fitted, [seen[s] and s < max_length for s in range(count)]))
    return one_head(rows, states)


def fixed(p: Parameters, queries: Array, states: Array, seen: list[bool], **_: Any) -> Result:
    row = [float(seen[s] and not any(seen[s + 1 :])) for s in range(len(seen))]
    return one_head([row] * len(queries), states)


def location(
    p: Parameters, queries: Array, states: Array, seen: list[bool], max_length: int, **_: Any
) -> Result:
    return fixed_length([affine(p, "score_projection", q) for q in queries], states, seen, max_length)


def positional(
    p: Parameters, queries: Array, states: Array, seen: list[bool], max_length: int, **_: Any
) -> Result:
    rows = [[float(x) for x in p["place_scores"][min(t, max_length - 1)]] for t in range(len(queries))]
    return fixed_length(rows, states, seen, max_length)


def factorized_positional(
    p: Parameters, queries: Array, states: Array, seen: list[bool], max_length: int, **_: Any
) -> Result:
    rows = [
        [dot(p["target_places"][min(t, max_length - 1)], source) for source in p["source_places"]]
        for t in range(len(queries))
    ]
    return fixed_length(rows, states, seen, max_length)


def local_m(p: Parameters, queries: Array, states: Array, seen: list[bool], window: int, **_: Any) -> Result:
    rows = []
    for t, query in enumerate(queries):
        near = [seen[s] and abs(s - t) <= window for s in range(len(states))]
        rows.append(softmax([general_score(p, query, state) for state in states], near))
    return one_head(rows, states)


def local_p(
    p: Parameters, queries: Array, states: Array, seen: list[bool], window: int, gaussian: str, **_: Any
) -> Result:
    length, deviation = sum(seen), window / 2
    rows = []
    for query in queries:
        hidden = [math.tanh(x) for x in product(p["place_projection.weight"], query)]
        place = length * sigmoid(dot(p["place_direction"], hidden))
        near = [seen[s] and abs(s - place) <= window for s in range(len(states))]
        scores = [general_score(p, query, state) for state in states]
        exponents = [-((s - place) ** 2) / (2 * deviation**2) for s in range(len(states))]
        if gaussian == "before":
            rows.append(softmax([a + b for a, b in zip(scores, exponents, strict=True)], near))
        else:
            weights = softmax(scores, near)
            rows.append([w * math.exp(e) for w, e in zip(weights, exponents, strict=True)])
    return one_head(rows, states)


def coverage(
    p: Parameters, queries: Array, states: Array, seen: list[bool], max_fertility: float, **_: Any
) -> Result:
    fertility = [max_fertility * sigmoid(affine(p, "fertility_projection", state)[0]) for state in states]
    total = [0.0] * len(states)
    rows = []
    for query in queries:
        projected = affine(p, "query_projection", query)
        scores = []
        for s, state in enumerate(states):
            key, covered = affine(p, "key_projection", state), total[s] / fertility[s]
            scores.append(
                sum(
                    float(p["direction"][a])
                    * math.tanh(projected[a] + key[a] + covered * float(p["coverage_direction"][a]))
                    for a in range(len(key))
                )
            )
        rows.append(softmax(scores, seen))
        total = [a + b for a, b in zip(total, rows[-1], strict=True)]
    return one_head(rows, states)


def hierarchical(
    p: Parameters, queries: Array, states: Array, seen: list[bool], sentences: Sequence[int] = (), **_: Any
) -> Result:
    numbers = list(sentences) or [0] * len(states)
    rows, contexts = [], []
    for query in queries:
        scores = [additive_score(p, query, state) for state in states]
        projected = affine(p, "sentence_query_projection", query)
        words, parts, energies, present = [], [], [], []
        for number in range(max(numbers) + 1):
            inside = [real and own == number for real, own in zip(seen, numbers, strict=True)]
            words.append(softmax(scores, inside))
            parts.append(mix(words[-1], states))
            key = product(p["sentence_projection.weight"], parts[-1])
            energies.append(
                sum(
                    float(v) * math.tanh(a + b)
                    for v, a, b in zip(p["sentence_direction"], projected, key, strict=True)
                )
            )
            present.append(any(inside))
        shares = softmax(energies, present)
        rows.append([shares[own] * words[own][s] for s, own in enumerate(numbers)])
        contexts.append(mix(shares, parts))
    return np.array([rows]), np.array(contexts)


def heads_of(p: Parameters, queries: Array, states: Array, num_heads: int, groups: int) -> Any:
    """Queries of each head, and keys and values of the head it reads."""
    asked = [affine(p, "query_projection", q) for q in queries]
    both = [affine(p, "key_value_projection", s) for s in states]
    width = len(asked[0]) // num_heads
    num_read = num_heads // groups
    for head in range(num_heads):
        own, read = slice(head * width, (head + 1) * width), head // groups
        keys = [row[read * width : (read + 1) * width] for row in both]
        values = [row[(num_read + read) * width : (num_read + read + 1) * width] for row in both]
        yield head, [row[own] for row in asked], keys, values


def collect(p: Parameters, found: list[tuple[list[list[float]], list[list[float]]]]) -> Result:
    """Heads side by side, through the output projection."""
    weights = np.array([rows for rows, _ in found])
    num_queries = weights.shape[1]
    contexts = [
        affine(p, "output_projection", [x for _, parts in found for x in parts[t]])
        for t in range(num_queries)
    ]
    return weights, np.array(contexts)


def multi_head(
    p: Parameters,
    queries: Array,
    states: Array,
    seen: list[bool],
    num_heads: int = 1,
    groups: int = 1,
    causal: bool = False,
    window: int | None = None,
    bias: Callable[[int, int], float] | None = None,
    first: int = 0,
    **_: Any,
) -> Result:
    """Query t stands at position ``first`` + t; ``bias(head, distance)`` is added to the scores."""
    found = []
    for head, asked, keys, values in heads_of(p, queries, states, num_heads, groups):
        rows = []
        for t, query in enumerate(asked):
            scores, visible = [], []
            for s, key in enumerate(keys):
                distance = s - (t + first)
                score = dot(query, key) / math.sqrt(len(key))
                scores.append(score + (bias(head, distance) if bias else 0.0))
                near = window is None or abs(distance) <= window
                visible.append(seen[s] and near and not (causal and distance > 0))
            rows.append(softmax(scores, visible))
        found.append((rows, [mix(row, values) for row in rows]))
    return collect(p, found)


def alibi_bias(num_heads: int) -> Callable[[int, int], float]:
    """Published slopes: of 2, 4 and 3 heads; the third of 3 is the first of 4."""
    slopes = {1: [2**-8], 2: [2**-4, 2**-8], 3: [2**-4, 2**-8, 2**-2], 4: [2**-2, 2**-4, 2**-6, 2**-8]}[
        num_heads
    ]
    return lambda head, distance: -slopes[head] * abs(distance)


def relative_bias(
    p: Parameters, num_buckets: int, max_distance: int, causal: bool
) -> Callable[[int, int], float]:
    """Buckets as Raffel et al.'s code has them, for one distance."""

    def bucket(distance: int) -> int:
        count, first = num_buckets, 0
        if causal:
            away = max(0, -distance)
        else:
            count //= 2
            first = count if distance > 0 else 0
            away = abs(distance)
        exact = count // 2
        if away < exact:
            return first + away
        far = math.log(away / exact) / math.log(max_distance / exact) * (count - exact)
        return first + min(count - 1, exact + int(far))

    return lambda head, distance: float(p["distance_weight"][bucket(distance)][head])


def elu(x: float) -> float:
    return x + 1 if x > 0 else math.exp(x)


def linear(
    p: Parameters,
    queries: Array,
    states: Array,
    seen: list[bool],
    num_heads: int = 1,
    causal: bool = False,
    **_: Any,
) -> Result:
    found = []
    for _head, asked, keys, values in heads_of(p, queries, states, num_heads, 1):
        rows = []
        for t, query in enumerate(asked):
            similar = [
                dot([elu(x) for x in query], [elu(x) for x in key])
                if seen[s] and not (causal and s > t)
                else 0.0
                for s, key in enumerate(keys)
            ]
            total = sum(similar)
            rows.append([x / total if total else 0.0 for x in similar])
        found.append((rows, [mix(row, values) for row in rows]))
    return collect(p, found)


def dpfp(x: Sequence[float]) -> list[float]:
    halves = [max(0.0, v) for v in x] + [max(0.0, -v) for v in x]
    products = [halves[i] * halves[i - 1] for i in range(len(halves))]
    total = max(sum(products), 1e-6)
    return [v / total for v in products]


def delta(
    p: Parameters,
    queries: Array,
    states: Array,
    seen: list[bool],
    num_heads: int = 1,
    causal: bool = False,
    **_: Any,
) -> Result:
    """The recurrence itself. A row of weights is what the matrix returns if each value is a unit vector."""
    strengths = [[sigmoid(x) for x in affine(p, "strength_projection", state)] for state in states]
    found = []
    for head, asked, keys, values in heads_of(p, queries, states, num_heads, 1):
        units = np.eye(len(states))
        rows: list[list[float]] = []
        contexts: list[list[float]] = []
        for t, query in enumerate(asked):
            features = dpfp(query)
            for written_values, out in ((units, rows), (np.array(values), contexts)):
                matrix = np.zeros((len(written_values[0]), len(features)))
                for s, key in enumerate(keys):
                    if not seen[s] or (causal and s > t):
                        continue
                    feature = np.array(dpfp(key))
                    matrix += strengths[s][head] * np.outer(written_values[s] - matrix @ feature, feature)
                out.append(list(matrix @ np.array(features)))
        found.append((rows, contexts))
    return collect(p, found)
