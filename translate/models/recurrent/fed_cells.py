"""The recurrent part of a decoder's loop with input feeding, one step forward and one back at a time.

Each keeps what its gradient needs. Shapes: B sentences, T positions, E width of the embeddings, R of h~, D of
the state, G of the gates (4D for an LSTM, 3D for a GRU).
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from translate.models.recurrent.recurrences import gru_backward, gru_forward, lstm_backward, lstm_forward


class CellWeights(NamedTuple):
    """The parameters of an ``nn.LSTM`` or ``nn.GRU`` of one layer that reads [y; h~]."""

    embedded: Tensor  # on y: (G, E)
    fed: Tensor  # on h~: (G, R)
    own: Tensor  # on h: (G, D)
    bias: Tensor  # (G,)
    own_bias: Tensor  # (G,)


class FedCell(ABC):
    """The steps over ``states`` (T + 1, B, R + D), whose row t is [h~; h] before position t.

    Args:
        inputs: y, (T, B, E).
        weights: see :class:`CellWeights`.
        states: row t + 1 receives h of position t, and must hold its h~ before the next step.
        cell: the LSTM's c before the first position, (B, D); of width 0 for a GRU.
    """

    def __init__(self, inputs: Tensor, weights: CellWeights, states: Tensor, cell: Tensor) -> None:
        self.inputs, self.states, self.read_size = inputs, states, weights.fed.shape[1]

    @abstractmethod
    def forward(self, t: int) -> Tensor:
        """Write h of position t, (B, D), and return it."""

    @abstractmethod
    def backward(self, t: int, weights: CellWeights, of_hidden: Tensor, of_state: Tensor) -> None:
        """From the gradient of h of position t, which it may change, to that of [h~; h] before it."""

    @abstractmethod
    def gradients(self, weights: CellWeights) -> tuple[Tensor, Tensor, CellWeights]:
        """The gradients of the inputs (T, B, E), of the first c, and of the weights."""


class FedLSTM(FedCell):
    """Hochreiter and Schmidhuber 1997, with torch's gates i, f, g, o."""

    def __init__(self, inputs: Tensor, weights: CellWeights, states: Tensor, cell: Tensor) -> None:
        super().__init__(inputs, weights, states, cell)
        # One product a step, of [h~; h].
        self.loop = torch.cat([weights.fed, weights.own], dim=1)
        self.gates = F.linear(inputs, weights.embedded, weights.bias + weights.own_bias)
        self.cells = cell.new_empty(len(states), *cell.shape)
        self.cells[0] = cell
        self.tanh_cells = cell.new_empty(len(inputs), *cell.shape)
        self.slopes = self.of_cell = cell.new_empty(0)  # until `backward`

    def forward(self, t: int) -> Tensor:
        self.gates[t].addmm_(self.states[t], self.loop.t())
        hidden = self.states[t + 1, :, self.read_size :]
        lstm_forward(self.gates[t], self.cells[t], self.cells[t + 1], self.tanh_cells[t], hidden)
        return hidden

    def backward(self, t: int, weights: CellWeights, of_hidden: Tensor, of_state: Tensor) -> None:
        if t == len(self.gates) - 1:
            self.slopes, self.of_cell = torch.empty_like(self.gates), torch.zeros_like(self.cells[0])
        slopes = self.slopes[t]
        lstm_backward(self.gates[t], self.cells[t], self.tanh_cells[t], of_hidden, self.of_cell, slopes)
        torch.mm(slopes, self.loop, out=of_state)

    def gradients(self, weights: CellWeights) -> tuple[Tensor, Tensor, CellWeights]:
        flat = self.slopes.flatten(0, 1)
        of_bias = flat.sum(0)
        of_loop = flat.t() @ self.states[:-1].flatten(0, 1)
        of_embedded = flat.t() @ self.inputs.flatten(0, 1)
        of_fed, of_own = of_loop[:, : self.read_size], of_loop[:, self.read_size :]
        of_weights = CellWeights(of_embedded, of_fed, of_own, of_bias, of_bias)
        return self.slopes @ weights.embedded, self.of_cell, of_weights


class FedGRU(FedCell):
    """Cho et al. 2014, with torch's gates r, z, n: r scales the state's part of n and not the state."""

    def __init__(self, inputs: Tensor, weights: CellWeights, states: Tensor, cell: Tensor) -> None:
        super().__init__(inputs, weights, states, cell)
        self.weights = weights
        self.gates = F.linear(inputs, weights.embedded, weights.bias)
        self.size = weights.own.shape[1]
        self.fresh = self.gates.new_empty(*inputs.shape[:2], self.size)
        self.no_cell = torch.zeros_like(cell)
        self.slopes = cell.new_empty(0)  # until `backward`; of n, r, z from the input, of n from the state

    def forward(self, t: int) -> Tensor:
        before = self.states[t, :, self.read_size :]
        self.gates[t].addmm_(self.states[t, :, : self.read_size], self.weights.fed.t())
        from_state = torch.addmm(self.weights.own_bias, before, self.weights.own.t())
        hidden = self.states[t + 1, :, self.read_size :]
        gru_forward(self.gates[t], from_state, before, self.fresh[t], hidden)
        return hidden

    def backward(self, t: int, weights: CellWeights, of_hidden: Tensor, of_state: Tensor) -> None:
        if t == len(self.gates) - 1:
            self.slopes = self.gates.new_empty(*self.gates.shape[:2], 4 * self.size)
            self.turned = torch.cat([weights.fed[2 * self.size :], weights.fed[: 2 * self.size]])  # n, r, z
        slopes, before = self.slopes[t], self.states[t, :, self.read_size :]
        gru_backward(self.gates[t], before, self.fresh[t], of_hidden, slopes)
        of_state[:, : self.read_size] = slopes[:, : 3 * self.size] @ self.turned
        of_state[:, self.read_size :] = of_hidden.addmm_(slopes[:, self.size :], weights.own)

    def gradients(self, weights: CellWeights) -> tuple[Tensor, Tensor, CellWeights]:
        slopes, states = self.slopes.flatten(0, 1), self.states[:-1].flatten(0, 1)
        from_input, from_state = slopes[:, : 3 * self.size], slopes[:, self.size :]
        of_fed = from_input.t() @ states[:, : self.read_size]
        of_embedded = from_input.t() @ self.inputs.flatten(0, 1)
        of_weights = CellWeights(
            of_embedded.roll(-self.size, 0),
            of_fed.roll(-self.size, 0),
            from_state.t() @ states[:, self.read_size :],
            from_input.sum(0).roll(-self.size, 0),
            from_state.sum(0),
        )
        new, gates = weights.embedded[2 * self.size :], weights.embedded[: 2 * self.size]
        return self.slopes[..., : 3 * self.size] @ torch.cat([new, gates]), self.no_cell, of_weights


FED_CELLS: dict[str, type[FedCell]] = {"lstm": FedLSTM, "gru": FedGRU}
