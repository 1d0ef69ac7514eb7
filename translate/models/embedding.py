"""Token embeddings and positions."""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from translate.errors import UserError

SINUSOIDS = ("sinusoidal", "marian")
PositionKind = Literal["sinusoidal", "marian", "learned", "rotary", "none"]
Tie = Literal["none", "target", "all"]


def embeddings(
    source_vocabulary: int, target_vocabulary: int, width: int, *, tie: Tie
) -> tuple[nn.Embedding, nn.Embedding]:
    """Source and target embeddings, one and the same if ``tie`` is ``all``.

    Raises:
        ValueError: if ``tie`` is ``all`` with different vocabularies.
    """
    if tie == "all" and source_vocabulary != target_vocabulary:
        raise ValueError("tie: all needs one vocabulary (tokenizer.shared=true); use tie=target")
    target = nn.Embedding(target_vocabulary, width)
    source = target if tie == "all" else nn.Embedding(source_vocabulary, width)
    for embedding in (source, target):
        nn.init.normal_(embedding.weight, std=width**-0.5)
    return source, target


def positions_from(start: int | Tensor, length: int, device: torch.device) -> Tensor:
    """The next ``length`` (L) positions from ``start``, one number or (B,): (L,) or (B, L) int64."""
    if isinstance(start, Tensor):
        return start.unsqueeze(1) + torch.arange(length, device=device)
    return torch.arange(start, start + length, device=device)


def sinusoids(
    start: int | Tensor, length: int, width: int, device: torch.device, kind: str = "sinusoidal"
) -> Tensor:
    """Sine and cosine of geometrically growing wave lengths: Vaswani et al. 2017, 3.5. -> (L, D).

    For starts (B,) it is (B, L, D). As in tensor2tensor and Marian all sines come before all cosines, and the
    longest wave is reached exactly; ``marian`` has the wave lengths of the paper, rounded once, as the Marian
    of ``transformers`` does.
    """
    half = (width + 1) // 2
    precision, steps = (torch.float64, half) if kind == "marian" else (torch.float32, max(1, half - 1))
    position = positions_from(start, length, device).to(precision).unsqueeze(-1)
    numbers = torch.arange(half, device=device, dtype=precision)
    angle = position * torch.exp(numbers * (-math.log(10_000.0) / steps))
    return torch.cat([angle.sin(), angle.cos()], dim=-1)[..., :width].float()


def rotate(states: Tensor, start: int | Tensor = 0) -> Tensor:
    """Rotary positions (Su et al. 2021, eq. 34): turn pairs of features by an angle that grows with position.

    Args:
        states: queries or keys (B, H, T, E), E even.
        start: position of the first of the T states, of all sequences or of each (B,).
    """
    length, width = states.shape[-2:]
    position = positions_from(start, length, states.device).float().unsqueeze(-1)  # (L, 1) or (B, L, 1)
    position = position.unsqueeze(1) if position.dim() == 3 else position  # (B, 1, L, 1): all heads alike
    half = width // 2
    frequency = 10_000.0 ** (-torch.arange(half, device=states.device, dtype=torch.float32) / half)
    cosine = (position * frequency).cos().to(states.dtype)
    sine = (position * frequency).sin().to(states.dtype)
    first, second = states[..., :half], states[..., half:]
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)


class Positions(nn.Module):
    """Adds positions to embeddings; adds nothing for ``rotary`` and ``none``."""

    def __init__(self, kind: PositionKind, width: int, max_length: int) -> None:
        super().__init__()
        self.kind = kind
        self.max_length = max_length
        if kind == "learned":
            self.table = nn.Parameter(torch.randn(max_length, width) * width**-0.5)

    def forward(self, states: Tensor, start: int | Tensor = 0) -> Tensor:
        """(B, L, D) whose first position is ``start``, of all sequences or of each (B,).

        Raises:
            UserError: past a learned table.
        """
        length, width = states.shape[-2:]
        if self.kind in SINUSOIDS:
            return states + sinusoids(start, length, width, states.device, self.kind).to(states.dtype)
        if self.kind == "learned":
            if isinstance(start, Tensor):  # of a search, which ends sentences in time; free slots count on
                places = positions_from(start, length, states.device)
                return states + self.table[places.clamp_max(self.max_length - 1)]
            end = start + length
            if end > self.max_length:
                raise UserError(f"learned positions: {end} pieces are more than max_length={self.max_length}")
            return states + self.table[start:end]
        return states
