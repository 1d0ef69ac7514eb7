"""Parameter groups, and the one optimizer that torch does not offer as we need it."""

from collections.abc import Callable, Iterable
from math import sqrt
from typing import Annotated, Any

import torch
from annotated_types import Ge, Le
from torch import Tensor, nn

from translate.attention.kernels.linear import bfloat16_instructions
from translate.config.declare import Amount, BelowOne
from translate.config.files import YAML, from_file
from translate.models import Seq2Seq

MUON = "muon"  # marks Muon's groups among the parameter groups
# Of x -> a x + b x^3 + c x^5, which Jordan et al. 2024 chose to grow small singular values fast: it takes all
# of them to between 0.7 and 1.2, not to 1.
A, B, C = 3.4445, -4.7750, 2.0315
RMS = 0.2  # of an update before the learning rate, as AdamW's usually have (Liu et al. 2025, equation 4)
EPS = 1e-7  # keeps the division by the norm of a gradient finite


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Matrices decay; vectors (biases, norms, score directions) and embeddings do not."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    decayed: list[nn.Parameter] = []
    kept: list[nn.Parameter] = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            (decayed if parameter.dim() > 1 and id(parameter) not in embeddings else kept).append(parameter)
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": kept, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al. 2024) for hidden matrices, torch's AdamW for vectors, embeddings and output.

    A step of Muon goes in the direction of the nearest matrix whose singular values are all alike, scaled as
    in Liu et al. 2025, so that both parts share rate and decay. It computes as :class:`torch.optim.Muon` does
    with ``adjust_lr_fn="match_rms_adamw"``. That one's products are in bfloat16, 25 times slower on
    processors without instructions for it; there they are in float32 here.

    Args:
        params: groups of :meth:`parameter_groups`.
        lr: of both; the schedule's peak.
        momentum: of Muon, the decay of the average of the gradient; a step looks ahead by one gradient.
        ns_steps: of Muon, iterations of Newton and Schulz; fewer cost less.
        betas: of AdamW.
        eps: of AdamW.
        weight_decay: decoupled, of groups without a value of their own.
    """

    @from_file("optimizer/muon.yaml")
    def __init__(
        self,
        params: Iterable[dict[str, Any]],
        lr: Amount = YAML,
        momentum: BelowOne = YAML,
        ns_steps: Annotated[int, Ge(1), Le(20)] = YAML,  # five are enough
        betas: tuple[float, float] = YAML,
        eps: float = YAML,
        weight_decay: Amount = YAML,
    ) -> None:
        super().__init__(list(params), {"lr": lr, "weight_decay": weight_decay})
        self.momentum, self.ns_steps = momentum, ns_steps
        others = [group for group in self.param_groups if not group.get(MUON)]
        self.adamw = torch.optim.AdamW(others, lr=lr, betas=betas, eps=eps, fused=True) if others else None
        self._share_groups()

    def _share_groups(self) -> None:
        """Let both parts have the same groups, so that a rate set here reaches them."""
        own = [group for group in self.param_groups if group.get(MUON)]
        self.param_groups = own + (self.adamw.param_groups if self.adamw else [])

    @staticmethod
    def parameter_groups(model: Seq2Seq, weight_decay: float) -> list[dict[str, Any]]:
        """Hidden matrices for Muon; for AdamW the output, then vectors and embeddings without decay."""
        embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
        kept = {id(model.output_weight), *embeddings}
        groups: list[dict[str, Any]] = []
        for group in parameter_groups(model, weight_decay):
            parts: dict[bool, list[nn.Parameter]] = {True: [], False: []}
            for parameter in group["params"]:
                parts[parameter.dim() == 2 and id(parameter) not in kept].append(parameter)
            groups += [{**group, "params": params, MUON: muon} for muon, params in parts.items()]
        return [group for group in groups if group["params"]]

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Step every parameter that has a gradient."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            if group.get(MUON):
                self._step_matrices(group["params"], group["lr"], group["weight_decay"])
        if self.adamw is not None:
            self.adamw.step()
        return loss

    def _step_matrices(self, matrices: list[Tensor], rate: float, decay: float) -> None:
        alike: dict[Any, list[Tensor]] = {}
        for matrix in matrices:
            if matrix.grad is not None:
                alike.setdefault(matrix.shape if whole_here(matrix) else id(matrix), []).append(matrix)
        for some in alike.values():
            ahead = [self._looking_ahead(matrix) for matrix in some]
            if len(some) > 1:
                updates = nearly_orthogonal(torch.stack(ahead), self.ns_steps).unbind()
            else:
                updates = (nearly_orthogonal(ahead[0], self.ns_steps),)
            for matrix, update in zip(some, updates, strict=True):
                matrix.mul_(1 - rate * decay)
                matrix.add_(update, alpha=-rate * RMS * sqrt(max(matrix.shape)))

    def _looking_ahead(self, matrix: Tensor) -> Tensor:
        """The gradient of a matrix, averaged over the steps and one step ahead."""
        state, gradient = self.state[matrix], matrix.grad
        assert gradient is not None
        if not state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        average = state["momentum_buffer"].lerp_(gradient, 1 - self.momentum)
        return gradient.lerp(average, self.momentum)

    def state_dict(self) -> dict[str, Any]:
        return {"muon": super().state_dict(), "adamw": self.adamw.state_dict() if self.adamw else None}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict["muon"])
        if self.adamw is not None:
            self.adamw.load_state_dict(state_dict["adamw"])
        self._share_groups()


def whole_here(matrix: Tensor) -> bool:
    """Whether no other process has a part of it: then it steps together with its like, in fewer calls."""
    return type(matrix) is nn.Parameter


def nearly_orthogonal(matrix: Tensor, steps: int = 5) -> Tensor:
    """(m, n), with the singular vectors of ``matrix`` (m, n) and singular values near 1; or (k, m, n) of k.

    By ``steps`` iterations of Newton and Schulz with a polynomial of degree 5 (Jordan et al. 2024), in
    bfloat16, or in float32 on a CPU without instructions for it.
    """
    found = matrix.bfloat16() if matrix.is_cuda or bfloat16_instructions() else matrix.float()
    tall = found.shape[-2] > found.shape[-1]
    if tall:
        found = found.mT
    found = found / found.norm(dim=(-2, -1), keepdim=True).clamp(min=EPS)
    added = torch.addmm if found.dim() == 2 else torch.baddbmm
    for _ in range(steps):
        square = found @ found.mT
        found = added(found, added(square, square, square, beta=B, alpha=C), found, beta=A)
    return (found.mT if tall else found).to(matrix.dtype)
