"""A model whose attention a test plants."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

Attend = Callable[[list[int], list[int]], np.ndarray]  # source ids, <s> y1..yn -> (layers, heads, T, S)


class FakeModel(nn.Module):
    """Gives the attention that a function of one sentence pair plants, and rubbish on padding."""

    def __init__(self, attend: Attend, num_layers: int, num_heads: int) -> None:
        super().__init__()
        self.attend = attend
        self.num_attention_layers = num_layers
        self.num_attention_heads = num_heads
        self.max_target_length: int | None = None
        self.frozen = nn.Dropout()
        self.output_weight = torch.zeros(0)  # tells the device
        self.batch_sizes: list[int] = []

    def forced_weights(
        self, source: Tensor, source_mask: Tensor | None, target_in: Tensor, layers: Sequence[int]
    ) -> list[Tensor]:
        assert not self.training
        assert not torch.is_grad_enabled()
        self.batch_sizes.append(len(source))
        (B, S), T = source.shape, target_in.shape[1]
        mask = torch.ones(B, S, dtype=torch.bool) if source_mask is None else source_mask
        weights = np.full((len(layers), B, self.num_attention_heads, T, S), 0.37, dtype=np.float32)
        for row in range(B):
            source_ids = source[row][mask[row]].tolist()
            target_ids = [i for i in target_in[row].tolist() if i != 0]
            planted = self.attend(source_ids, target_ids)
            weights[:, row, :, : len(target_ids), : len(source_ids)] = planted[list(layers)]
        return list(torch.from_numpy(weights))
