"""One step of a decoder's cell, forward and backward, written into preallocated memory.

Each keeps what its gradient needs. The order of gates is torch's. Shapes: B sentences, T positions, E width
of the embeddings, F of what is fed to the cell beside them, D and H of the state, G of the gates (4D for an
LSTM, 3D for a GRU).
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


class Steps:
    """The cell of a loop over ``states`` (T + 1, B, F + D), whose row t is [fed; h] before position t.

    Args:
        embedded: y, (B, T, E).
        fed_size: F.
        hidden: h before the first position, (B, D).
        cell: the LSTM's c before the first position, (B, D); of width 0 for a GRU.
        weights: of the cell, which reads [y; fed]: (G, E + F) and (G, D), then both biases (G,).
    """

    def __init__(
        self, embedded: Tensor, fed_size: int, hidden: Tensor, cell: Tensor, weights: Sequence[Tensor]
    ) -> None:
        batch, length, width = embedded.shape
        self.weight, self.own, self.bias, self.own_bias = weights
        self.of_embedded, self.of_fed = self.weight[:, :width], self.weight[:, width:]
        self.inputs = embedded.transpose(0, 1).contiguous()
        self.fed_size, self.size = fed_size, hidden.shape[1]
        self.states = hidden.new_empty(length + 1, batch, fed_size + self.size)
        self.states[0, :, fed_size:] = hidden
        self.begin(cell)

    def begin(self, cell: Tensor) -> None:
        """Make room for what the steps keep."""
        raise NotImplementedError

    def fed(self, t: int) -> Tensor:
        """The input at position t beside the embedding, (B, F)."""
        return self.states[t, :, : self.fed_size]

    def before(self, t: int) -> Tensor:
        """h before position t, (B, D)."""
        return self.states[t, :, self.fed_size :]

    def forward(self, t: int) -> None:
        """Take the step at position t, at which ``fed`` is written."""
        raise NotImplementedError

    def backward(self, t: int, of_hidden: Tensor, of_state: Tensor) -> None:
        """From the gradient of h after position t, which it may change, to that of [fed; h] before it."""
        raise NotImplementedError

    def gradients(self) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """The gradients of the inputs (T, B, E), of the first c, and of the weights."""
        raise NotImplementedError


class LSTMSteps(Steps):
    """Hochreiter and Schmidhuber 1997, with torch's gates i, f, g, o."""

    def begin(self, cell: Tensor) -> None:
        self.loop = torch.cat([self.of_fed, self.own], dim=1)  # one product a step, of [fed; h]
        self.gates = F.linear(self.inputs, self.of_embedded, self.bias + self.own_bias)
        self.cells = cell.new_empty(len(self.states), *cell.shape)
        self.cells[0] = cell
        self.tanh_cells = torch.empty_like(self.cells[1:])
        self.slopes, self.of_cell = torch.empty_like(self.gates), torch.zeros_like(cell)

    def forward(self, t: int) -> None:
        self.gates[t].addmm_(self.states[t], self.loop.t())
        cells = self.cells[t], self.cells[t + 1], self.tanh_cells[t]
        lstm_forward(self.gates[t], *cells, self.before(t + 1))

    def backward(self, t: int, of_hidden: Tensor, of_state: Tensor) -> None:
        slopes = self.slopes[t]
        lstm_backward(self.gates[t], self.cells[t], self.tanh_cells[t], of_hidden, self.of_cell, slopes)
        torch.mm(slopes, self.loop, out=of_state)

    def gradients(self) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        slopes = self.slopes.flatten(0, 1)
        of_bias = slopes.sum(0)
        of_loop = slopes.t() @ self.states[:-1].flatten(0, 1)
        of_embedded = slopes.t() @ self.inputs.flatten(0, 1)
        of_weight = torch.cat([of_embedded, of_loop[:, : self.fed_size]], 1)
        of_weights = of_weight, of_loop[:, self.fed_size :], of_bias, of_bias
        of_cell, self.of_cell = self.of_cell, torch.zeros_like(self.of_cell)
        return self.slopes @ self.of_embedded, of_cell, of_weights


class GRUSteps(Steps):
    """Cho et al. 2014, with torch's gates r, z, n: r scales the state's part of n and not the state."""

    def begin(self, cell: Tensor) -> None:
        self.gates = F.linear(self.inputs, self.of_embedded, self.bias)
        self.fresh = self.gates.new_empty(*self.inputs.shape[:2], self.size)
        # Of n, r and z from the input, and of n from the state.
        self.slopes = self.gates.new_empty(*self.inputs.shape[:2], 4 * self.size)
        turned = self.weight.roll(self.size, 0)  # n, r, z
        self.turned_embedded, self.turned_fed = turned.split([self.inputs.shape[2], self.fed_size], 1)
        self.of_cell = torch.zeros_like(cell)

    def forward(self, t: int) -> None:
        before = self.before(t)
        self.gates[t].addmm_(self.fed(t), self.of_fed.t())
        from_state = torch.addmm(self.own_bias, before, self.own.t())
        gru_forward(self.gates[t], from_state, before, self.fresh[t], self.before(t + 1))

    def backward(self, t: int, of_hidden: Tensor, of_state: Tensor) -> None:
        slopes = self.slopes[t]
        gru_backward(self.gates[t], self.before(t), self.fresh[t], of_hidden, slopes)
        of_state[:, : self.fed_size] = slopes[:, : 3 * self.size] @ self.turned_fed
        of_state[:, self.fed_size :] = of_hidden.addmm_(slopes[:, self.size :], self.own)

    def gradients(self) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        slopes, states = self.slopes.flatten(0, 1), self.states[:-1].flatten(0, 1)
        from_input, from_state = slopes[:, : 3 * self.size], slopes[:, self.size :]
        read = torch.cat([self.inputs.flatten(0, 1), states[:, : self.fed_size]], 1)
        of_weights = (
            (from_input.t() @ read).roll(-self.size, 0),
            from_state.t() @ states[:, self.fed_size :],
            from_input.sum(0).roll(-self.size, 0),
            from_state.sum(0),
        )
        return self.slopes[..., : 3 * self.size] @ self.turned_embedded, self.of_cell, of_weights


CELLS: dict[str, type[Steps]] = {"LSTM": LSTMSteps, "GRU": GRUSteps}


def lstm_forward(gates: Tensor, before: Tensor, cell: Tensor, tanh_cell: Tensor, hidden: Tensor) -> None:
    """c' = f c + i g and h = o tanh(c').

    Args:
        gates: the pre-activations of i, f, g and o, (B, 4H); becomes i, f, g and o.
        before: c, (B, H).
        cell: receives c'; may be ``before``.
        tanh_cell: receives tanh(c').
        hidden: receives h.
    """
    size = before.shape[1]
    gates[:, : 2 * size].sigmoid_()
    gates[:, 3 * size :].sigmoid_()
    enter, forget, candidate, leave = gates.split(size, 1)
    candidate.tanh_()
    torch.mul(forget, before, out=cell)
    cell.addcmul_(enter, candidate)
    torch.tanh(cell, out=tanh_cell)
    torch.mul(leave, tanh_cell, out=hidden)


def lstm_backward(
    gates: Tensor, before: Tensor, tanh_cell: Tensor, of_hidden: Tensor, of_cell: Tensor, slopes: Tensor
) -> None:
    """The gradient of :func:`lstm_forward`.

    Args:
        gates: i, f, g and o, (B, 4H).
        before: c, (B, H).
        tanh_cell: tanh(c'), (B, H).
        of_hidden: the gradient of h, (B, H).
        of_cell: the gradient of c' by later steps, (B, H); becomes that of c.
        slopes: receives the gradient of the gates' pre-activations, (B, 4H).
    """
    size = before.shape[1]
    enter, forget, candidate, leave = gates.split(size, 1)
    of_enter, of_forget, of_candidate, of_leave = slopes.split(size, 1)
    through = of_hidden * leave
    of_cell.add_(through)
    of_cell.addcmul_(through.mul_(tanh_cell), tanh_cell, value=-1)  # dc' += dh o (1 - tanh^2)
    torch.mul(of_cell, candidate, out=of_enter)
    torch.mul(of_cell, before, out=of_forget)
    torch.mul(of_hidden, tanh_cell, out=of_leave)
    torch.mul(of_cell, enter, out=through)
    torch.addcmul(through, through * candidate, candidate, value=-1, out=of_candidate)
    for gradient, gate in ((slopes[:, : 2 * size], gates[:, : 2 * size]), (of_leave, leave)):
        gradient.mul_(torch.addcmul(gate, gate, gate, value=-1))
    of_cell.mul_(forget)


def gru_forward(gates: Tensor, from_state: Tensor, before: Tensor, fresh: Tensor, hidden: Tensor) -> None:
    """h' = (1 - z) n + z h, n = tanh(x + r u), where x and u are the input's and the state's part of n.

    Args:
        gates: the input's part of the pre-activations of r, z and n, (B, 3H); becomes r, z and n.
        from_state: the state's part of it, (B, 3H).
        before: h, (B, H).
        fresh: receives u, (B, H).
        hidden: receives h'.
    """
    size = before.shape[1]
    gates[:, : 2 * size].add_(from_state[:, : 2 * size]).sigmoid_()
    reset, update, new = gates.split(size, 1)
    fresh.copy_(from_state[:, 2 * size :])
    new.addcmul_(reset, fresh).tanh_()
    torch.lerp(new, before, update, out=hidden)


def gru_backward(gates: Tensor, before: Tensor, fresh: Tensor, of_hidden: Tensor, slopes: Tensor) -> None:
    """The gradient of :func:`gru_forward`.

    Args:
        gates: r, z and n, (B, 3H).
        before: h, (B, H).
        fresh: u, (B, H).
        of_hidden: the gradient of h', (B, H); becomes that of h, but for what passes through the gates.
        slopes: receives the gradients of x, of the pre-activations of r and z, and of u, (B, 4H).
    """
    size = before.shape[1]
    reset, update, new = gates.split(size, 1)
    of_new, of_reset, of_update, of_fresh = slopes.split(size, 1)
    kept = of_hidden * update
    through = of_hidden - kept  # dn = dh' (1 - z)
    torch.addcmul(through, through * new, new, value=-1, out=of_new)
    torch.mul(of_new, reset, out=of_fresh)
    torch.mul(of_new, fresh, out=of_reset)
    torch.mul(of_hidden, before - new, out=of_update)
    both, gate = slopes[:, size : 3 * size], gates[:, : 2 * size]
    both.mul_(torch.addcmul(gate, gate, gate, value=-1))
    of_hidden.copy_(kept)
