"""The element-wise part of a step of a recurrence, and its gradient, into memory that is given.

Shapes: B sentences, H width of the state. The order of gates is torch's.
"""

import torch
from torch import Tensor


def lstm_forward(gates: Tensor, before: Tensor, cell: Tensor, tanh_cell: Tensor, hidden: Tensor) -> None:
    """c' = f c + i g and h = o tanh(c').

    Args:
        gates: what i, f, g and o are functions of, (B, 4H); becomes i, f, g and o.
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
        slopes: receives the gradient of what the gates are functions of, (B, 4H).
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
    for gradient, gate in (
        (slopes[:, : 2 * size], gates[:, : 2 * size]),
        (of_leave, leave),
    ):
        gradient.mul_(torch.addcmul(gate, gate, gate, value=-1))
    of_cell.mul_(forget)


def gru_forward(gates: Tensor, from_state: Tensor, before: Tensor, fresh: Tensor, hidden: Tensor) -> None:
    """h' = (1 - z) n + z h, n = tanh(x + r u), where x and u are the input's and the state's part of n.

    Args:
        gates: the input's part of what r, z and n are functions of, (B, 3H); becomes r, z and n.
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
        slopes: receives the gradients of x, of what r and z are functions of, and of u, (B, 4H).
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
