"""Parameter groups, and the one optimizer that torch does not offer as we need it."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from translate.config.files import YAML, from_file
from translate.models import Seq2Seq
from translate.training.orthogonal import Orthogonal

MUON = "muon"  # marks Muon's groups among the parameter groups
DISABLED = "__dynamo_disable"  # where torch keeps a method in the form that is not compiled


def do_without_compiler() -> None:
    """Make optimizers without torch's compiler, which takes a second to import.

    Some methods of torch's optimizers ask it not to compile them when they are called first, and import it
    for that. An optimizer that is compiled all the same works too.
    """
    for name in ("add_param_group", "zero_grad", "state_dict", "load_state_dict"):
        method = getattr(getattr(torch.optim.Optimizer, name), "__wrapped__", None)
        if method is not None and not hasattr(method, DISABLED):
            setattr(method, DISABLED, method)


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

    Muon's steps are scaled as in Liu et al. 2025, so that both parts share rate and decay.

    Args:
        params: groups of :meth:`parameter_groups`.
        lr: of both; the schedule's peak.
        momentum: of Muon.
        ns_steps: of Muon; fewer cost less.
        betas: of AdamW.
        eps: of AdamW.
        weight_decay: of groups without a value of their own.
    """

    @from_file("optimizer/muon.yaml")
    def __init__(
        self,
        params: Iterable[dict[str, Any]],
        lr: float = YAML,
        momentum: float = YAML,
        ns_steps: int = YAML,
        betas: tuple[float, float] = YAML,
        eps: float = YAML,
        weight_decay: float = YAML,
    ) -> None:
        groups = list(params)
        super().__init__(groups, {"lr": lr, "weight_decay": weight_decay})
        chosen = [group for group in self.param_groups if group.get(MUON)]
        others = [group for group in self.param_groups if not group.get(MUON)]
        self.parts: list[torch.optim.Optimizer] = []
        if chosen:
            self.parts.append(Orthogonal(chosen, lr=lr, momentum=momentum, ns_steps=ns_steps))
        if others:
            self.parts.append(torch.optim.AdamW(others, lr=lr, betas=betas, eps=eps, fused=True))
        # The parts share their groups with this list, so that a rate set here reaches them.
        self.param_groups = [group for part in self.parts for group in part.param_groups]

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

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Step both parts."""
        loss = None if closure is None else closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self.param_groups = [group for part in self.parts for group in part.param_groups]
