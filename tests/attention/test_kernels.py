"""Fused against explicit, forward and every gradient, by every kernel that runs here; refusals say why."""

import copy
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.attention.cases import CASES, Case, inputs
from translate.attention import Attention, create
from translate.attention import kernels as switch
from translate.attention.dot_product import DotProduct
from translate.attention.functional import additive_scores
from translate.attention.kernels import fused
from translate.attention.kernels.additive import fast_additive_scores
from translate.attention.kernels.fused import ADDITIVE_KERNELS, KERNELS, fused_attention, kernels
from translate.attention.kernels.probabilities import probabilities
from translate.attention.memory import Pattern

CPU = torch.device("cpu")
FUSIBLE = [key for key, case in CASES.items() if case.build().fusible]
FAILURES = kernels(CPU)
RUNNING = [name for name in KERNELS if not FAILURES.get(name)]


def test_threads_that_ask_for_a_kernel_leave_the_choice_of_torch_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first to come leaves first, while the other is inside: unless one waits for the other."""
    inside, left, tensor = [threading.Event(), threading.Event()], threading.Event(), torch.ones(1, 2, 3, 5)

    def slow(query: Tensor, *arguments: Any) -> Tensor:
        place = int(inside[0].is_set())
        inside[place].set()
        if place == 0:
            inside[1].wait(0.3)
        else:
            left.wait(10)
        return query

    def ask(done: threading.Event) -> None:
        fused_attention(tensor, tensor, tensor, kernel="math")
        done.set()

    monkeypatch.setattr(fused, "_sdpa", slow)
    names = [f"{name}_sdp_enabled" for name in ("flash", "mem_efficient", "math", "cudnn")]
    before = [getattr(torch.backends.cuda, name)() for name in names]
    threads = [threading.Thread(target=ask, args=(done,)) for done in (left, threading.Event())]
    threads[0].start()
    assert inside[0].wait(10)
    threads[1].start()
    for thread in threads:
        thread.join()
    after = [getattr(torch.backends.cuda, name)() for name in names]
    for name, value in zip(names, before, strict=True):
        getattr(torch.backends.cuda, f"enable_{name.removesuffix('_enabled')}")(value)
    assert after == before


def results(mechanism: Attention, case: Case, *, masked: bool, explicit: bool) -> list[Tensor]:
    """The context, and gradients of its weighted sum for query, states and every parameter."""
    query, states, mask = inputs(case)
    query.requires_grad_()
    states.requires_grad_()
    memory = mechanism.prepare(states, mask if masked else None)
    context, _ = mechanism(query, memory, need_weights=explicit)
    direction = torch.linspace(-1, 1, context.numel(), dtype=context.dtype).view_as(context)
    parameters = list(mechanism.parameters())
    found = torch.autograd.grad((context * direction).sum(), [query, states, *parameters], allow_unused=True)
    return [context, *(torch.zeros(1) if each is None else each for each in found)]


def noted_kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that compute contexts from now on, in their order."""
    taken: list[str] = []

    def noted(name: str) -> None:
        run = getattr(fused, name)

        def call(*arguments: Any) -> Tensor:
            taken.append(name)
            return run(*arguments)

        monkeypatch.setattr(fused, name, call)

    noted("_sdpa")
    noted("explicit_attention")
    return taken


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_half_precision_on_a_cpu_is_near_float64(
    monkeypatch: pytest.MonkeyPatch, causal: bool, training: bool
) -> None:
    torch.manual_seed(1)
    exact = [torch.randn(3, 2, length, 16, dtype=torch.float64) for length in (7, 11, 11)]
    mask = torch.arange(11) < torch.tensor([[11], [5], [0]])
    pattern = Pattern(mask, causal, start=4)
    taken = noted_kernels(monkeypatch)

    def found(dtype: torch.dtype) -> list[Tensor]:
        leaves = [each.to(dtype, copy=True).requires_grad_() for each in exact]
        with torch.set_grad_enabled(training):
            context = fused_attention(leaves[0], leaves[1], leaves[2], pattern)
        gradients = torch.autograd.grad(context.sin().sum(), leaves) if training else []
        return [each.detach().double() for each in (context, *gradients)]

    for mine, wanted in zip(found(torch.bfloat16), found(torch.float64), strict=True):
        assert (mine - wanted).norm() < 0.02 * wanted.norm()
    # In a search the kernels keep sums in float32.
    assert taken == ["explicit_attention" if training else "_sdpa", "_sdpa"]


@pytest.mark.parametrize("masked", [False, True], ids=["whole", "masked"])
@pytest.mark.parametrize("kernel", RUNNING)
@pytest.mark.parametrize("key", FUSIBLE)
def test_fused_equals_explicit_with_all_gradients(key: str, kernel: str, masked: bool) -> None:
    mechanism = CASES[key].build()
    if isinstance(mechanism, DotProduct):
        if kernel not in mechanism.kernels:
            with pytest.raises(ValueError, match=f"kernel: {kernel} cannot run {type(mechanism).__name__}: "):
                mechanism.choose_kernel(kernel)
            return
        mechanism.choose_kernel(kernel)
    else:
        assert kernel == "auto"
    if kernel == "flash" and CASES[key].name == "relative_bias":
        with pytest.raises(ValueError, match="no gradient for a learned bias"):
            results(mechanism, CASES[key], masked=masked, explicit=False)
        return
    try:
        fused = results(mechanism, CASES[key], masked=masked, explicit=False)
    except ValueError as error:  # a kernel may refuse a shape, and must say which
        assert "must be equally wide" in str(error)  # noqa: PT017
        return
    explicit = results(mechanism, CASES[key], masked=masked, explicit=True)
    for one, other in zip(fused, explicit, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)


def test_every_kernel_has_a_row_and_those_that_do_not_run_a_reason() -> None:
    assert {*FAILURES} == {*KERNELS, *ADDITIVE_KERNELS} - {"auto"}
    for name in ("math", "explicit", "chunked"):
        assert not FAILURES[name]
    for name in ("cudnn", "efficient"):
        assert FAILURES[name] == "it needs a GPU"


@pytest.mark.parametrize("kernel", [name for name, reason in FAILURES.items() if reason])
def test_what_cannot_run_is_refused_and_never_replaced(kernel: str) -> None:
    mechanism = create("multi_head", query_size=6, key_size=6, kernel=kernel)
    with pytest.raises(ValueError, match=f"kernel: {kernel} cannot run here: "):
        mechanism(torch.randn(2, 3, 6), mechanism.prepare(torch.randn(2, 5, 6)))


@pytest.mark.parametrize(
    ("name", "kernel", "message"),
    [
        ("multi_head", "fast", "kernel: expected one of auto, flash, .*, got 'fast'"),
        ("additive", "flash", "kernel: flash cannot run Additive: its score is no dot product"),
        ("multi_head", "chunked", "kernel: chunked cannot run MultiHead"),
        ("linear", "flash", "kernel: flash cannot run Linear: it has a linear-time form of its own"),
    ],
)
def test_a_kernel_that_never_fits_is_refused_when_built(name: str, kernel: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        create(name, query_size=6, key_size=6, kernel=kernel)


# The additive score.


def random_scores() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(3)
    sizes = ((3, 5, 17), (3, 7, 17), (17,))
    query, keys, direction = (torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes)
    return query, keys, direction


def score_results(score: Callable[[Tensor, Tensor, Tensor], Tensor]) -> list[Tensor]:
    arguments = random_scores()
    scores = score(*arguments)
    direction = torch.linspace(-1, 1, scores.numel(), dtype=torch.float64).view_as(scores)
    return [scores, *torch.autograd.grad((scores * direction).sum(), arguments)]


@pytest.mark.parametrize("elements", [1, 7 * 17, 2 * 7 * 17, 5 * 7 * 17, 11 * 7 * 17, 2**19])
def test_chunks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch, elements: int) -> None:
    monkeypatch.setattr("translate.attention.kernels.additive.CHUNK_ELEMENTS", elements)
    for one, other in zip(score_results(fast_additive_scores), score_results(additive_scores), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that any operation gives."""

    elements = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):  # type: ignore[no-untyped-def]
        found = function(*arguments, **(options or {}))
        for each in found if isinstance(found, (tuple, list)) else (found,):
            if isinstance(each, Tensor):
                self.elements = max(self.elements, each.untyped_storage().nbytes() // each.element_size())
        return found


@pytest.mark.parametrize(("kernel", "holds"), [("auto", False), ("chunked", False), ("explicit", True)])
def test_the_energies_are_never_in_memory_forward_or_backward(kernel: str, holds: bool) -> None:
    batch, targets, sources, width = 5, 31, 37, 131
    mechanism = create("additive", query_size=16, key_size=16, attention_size=width, kernel=kernel)
    memory = mechanism.prepare(torch.randn(batch, sources, 16))
    with Largest() as largest:
        context, _ = mechanism(torch.randn(batch, targets, 16), memory)
        with largest:
            context.square().sum().backward()
    assert (largest.elements >= batch * targets * sources * width) == holds


# Patterns of visible keys and biases, by every kernel.


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window", [None, 1, 3])
@pytest.mark.parametrize("sizes", [(5, 7), (7, 7), (1, 7), (7, 1)])
def test_patterns_by_every_kernel(sizes: tuple[int, int], window: int | None, causal: bool) -> None:
    torch.manual_seed(1)
    num_queries, num_keys = sizes
    query = torch.randn(3, 2, num_queries, 5, dtype=torch.float64)
    keys, values = torch.randn(2, 3, 2, num_keys, 5, dtype=torch.float64)
    mask = torch.ones(3, num_keys, dtype=torch.bool)
    mask[1, num_keys // 2 :] = False
    mask[2] = False
    start = max(0, num_keys - num_queries) if causal else 0
    pattern = Pattern(mask, causal, window, lambda d: torch.stack([-0.1 * d.abs(), 0.2 * d]).double(), start)
    expected = torch.zeros_like(query)
    for b in range(3):
        for h in range(2):
            for t in range(num_queries):
                place, seen = t + start, []
                for s in range(num_keys):
                    near = window is None or abs(s - place) <= window
                    if mask[b, s] and near and not (causal and s > place):
                        bias = (-0.1 * abs(s - place), 0.2 * (s - place))[h]
                        seen.append((s, float(query[b, h, t] @ keys[b, h, s]) * 0.3 + bias))
                total = sum(torch.tensor(score).exp() for _, score in seen)
                for s, score in seen:
                    expected[b, h, t] += values[b, h, s] * (torch.tensor(score).exp() / total)
    for kernel in RUNNING:
        found = fused_attention(query, keys, values, pattern, scale=0.3, kernel=kernel)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("key", FUSIBLE)
def test_kernels_on_a_gpu(key: str) -> None:
    case = CASES[key]
    options = {**case.options, "attention_size": 192} if "num_heads" in case.options else case.options
    torch.manual_seed(1)
    mechanism = create(case.name, query_size=64, key_size=64, **options)
    mechanism.to("cuda", torch.bfloat16)
    query, states = torch.randn(2, 3, 37, 64, device="cuda", dtype=torch.bfloat16)
    mask = torch.arange(37, device="cuda") < torch.tensor([[37], [20], [3]], device="cuda")
    precise = copy.deepcopy(mechanism).float()
    expected = precise(query.float(), precise.prepare(states.float(), mask), need_weights=True)[0]
    memory = mechanism.prepare(states, mask)
    allowed = mechanism.kernels if isinstance(mechanism, DotProduct) else ("auto",)
    ran = []
    for kernel in allowed:
        mechanism.kernel = kernel
        try:
            found = mechanism(query, memory)[0]
        except ValueError as error:
            assert "cannot run here: " in str(error)  # noqa: PT017
            continue
        ran.append(kernel)
        near = 0.1 if kernel == "explicit" else 0.05  # scores in bfloat16, or summed in float32
        torch.testing.assert_close(found.float(), expected, rtol=near, atol=near)
    assert {"auto", "math"} & {*allowed} <= {*ran}


@pytest.mark.parametrize("key", CASES)
def test_with_the_kernels_off_everything_runs_and_is_the_same(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[key]
    mechanism = case.build()
    expected = results(mechanism, case, masked=True, explicit=False)
    taken = noted_kernels(monkeypatch)
    with patch.object(switch.SWITCH, "on", new=False):
        plain = results(mechanism, case, masked=True, explicit=False)
    assert "_sdpa" not in taken
    for one, other in zip(plain, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("biased", [True, False])
def test_probabilities_in_half_precision_are_near_the_exact_ones(biased: bool) -> None:
    torch.manual_seed(5)
    hidden, weight = torch.randn(13, 7).bfloat16(), torch.randn(31, 7).bfloat16()
    hidden[0] *= 100  # most probabilities are 0
    bias = torch.randn(31) if biased else None
    wanted = torch.randint(31, (13, 1))
    found = probabilities(hidden, weight, bias, wanted, exact=False)
    exact = probabilities(hidden, weight, bias, wanted, exact=True)
    assert (found.all.dtype, exact.all.dtype) == (torch.bfloat16, torch.float32)
    torch.testing.assert_close(found.all[1:].float(), exact.all[1:], atol=0.01, rtol=0.05)
    torch.testing.assert_close(found.wanted_log, exact.wanted_log, atol=0.05, rtol=0.01)
    torch.testing.assert_close(found.normaliser, exact.normaliser, atol=0.05, rtol=0.01)
    with patch.object(switch.SWITCH, "on", new=False):
        plain = probabilities(hidden, weight, bias, wanted, exact=False)
    torch.testing.assert_close(plain, exact, atol=0, rtol=0)
