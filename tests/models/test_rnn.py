"""The decoders as plain loops over torch's cells from the papers' equations, with the model's weights."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.tiny_models import attention, padded, random_sources, random_targets, tiny_model
from translate.models import BahdanauRNN, LuongRNN, Seq2Seq

LENGTHS = [5, 3, 7]
WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def array(tensor: Any) -> np.ndarray:
    return tensor.detach().numpy()


def softmax(energies: list[float]) -> list[float]:
    powers = [np.exp(energy - max(energies)) for energy in energies]
    return [power / sum(powers) for power in powers]


class Cell:
    """torch's own cell with the weights of one layer: state after state."""

    def __init__(self, rnn: torch.nn.RNNBase, suffix: str) -> None:
        kind = torch.nn.LSTMCell if isinstance(rnn, torch.nn.LSTM) else torch.nn.GRUCell
        weights = {name: getattr(rnn, f"{name}_{suffix}") for name in WEIGHTS}
        self.cell: Any = kind(weights["weight_ih"].shape[1], rnn.hidden_size, dtype=torch.float64)
        self.cell.load_state_dict(weights)

    def __call__(self, x: np.ndarray, *state: np.ndarray) -> list[np.ndarray]:
        """The states after x: h and c of an LSTM, h of a GRU."""
        given = [torch.from_numpy(each).unsqueeze(0) for each in state]
        found = self.cell(torch.from_numpy(x).unsqueeze(0), tuple(given) if len(given) > 1 else given[0])
        return [array(each[0]) for each in (found if isinstance(found, tuple) else [found])]


def read_source(model: Seq2Seq, sentence: list[int]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Annotations h_j = [forward; backward], and each layer's last states of both directions."""
    table = model.source_embedding.weight * model.source_embedding.weight.shape[1] ** 0.5
    rnn: Any = model.encoder.rnn
    states, final = rnn(table[sentence].unsqueeze(0))
    final = final[0] if isinstance(final, tuple) else final
    return [*array(states[0])], [
        np.concatenate(pair) for pair in array(final[:, 0]).reshape(rnn.num_layers, 2, -1)
    ]


def energies(model: Seq2Seq, query: np.ndarray, annotations: list[np.ndarray]) -> list[float]:
    """v^T tanh(W s + U h_j) or s^T W h_j."""
    mechanism = model.attention
    keys = array(mechanism.key_projection.weight)
    if not hasattr(mechanism, "direction"):
        return [float(query @ (keys @ h)) for h in annotations]
    projection = mechanism.query_projection
    bias = 0.0 if projection.bias is None else array(projection.bias)
    projected = array(projection.weight) @ query + bias
    return [float(array(mechanism.direction) @ np.tanh(projected + keys @ h)) for h in annotations]


def attend(
    model: Seq2Seq, query: np.ndarray, annotations: list[np.ndarray]
) -> tuple[np.ndarray, list[float]]:
    weights = softmax(energies(model, query, annotations))
    context = sum((w * h for w, h in zip(weights, annotations, strict=True)), np.zeros_like(annotations[0]))
    return context, weights


def bahdanau(model: BahdanauRNN, sentence: list[int], target: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Bahdanau et al. 2015, A.1.2 and A.2.2 -> hidden states (T, D) and weights (T, S)."""
    annotations, finals = read_source(model, sentence)
    table = array(model.target_embedding.weight) * np.sqrt(model.target_embedding.weight.shape[1])
    cell, readout = Cell(model.cell, "l0"), model.readout
    backward = finals[-1][len(finals[-1]) // 2 :]  # the backward reader ends at the first word
    state = np.tanh(array(model.initial.weight) @ backward + array(model.initial.bias))
    hidden, rows = [], []
    for word in target:
        query = np.concatenate([table[word], state]) if model.word_in_query else state
        context, weights = attend(model, query, annotations)  # with the state before this step
        (state,) = cell(np.concatenate([table[word], context]), state)
        read = array(readout.weight) @ np.concatenate([state, table[word], context]) + array(readout.bias)
        width = table.shape[1]
        if len(read) == 2 * width:
            hidden.append(np.array([max(read[k], read[k + width]) for k in range(width)]))
        else:
            hidden.append(np.tanh(read))
        rows.append(weights)
    return np.array(hidden), np.array(rows)


def luong(model: LuongRNN, sentence: list[int], target: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Luong et al. 2015, eq. 5, 7, 8 and 3.3 -> hidden states (T, D) and weights (T, S)."""
    annotations, finals = read_source(model, sentence)
    table = array(model.target_embedding.weight) * np.sqrt(model.target_embedding.weight.shape[1])
    cells = [Cell(model.cell, f"l{layer}") for layer in range(model.cell.num_layers)]
    bridged = [np.tanh(array(model.bridge.weight) @ final + array(model.bridge.bias)) for final in finals]
    states = [np.split(each, 2) if isinstance(model.cell, torch.nn.LSTM) else [each] for each in bridged]
    combine = array(model.combine.weight), array(model.combine.bias)
    attentional = np.zeros(len(combine[1]))
    hidden, rows = [], []
    for word in target:
        x = np.concatenate([table[word], attentional]) if model.input_feeding else table[word]
        for layer, cell in enumerate(cells):
            states[layer] = cell(x, *states[layer])
            x = states[layer][0]
        context, weights = attend(model, x, annotations)  # with the state of this step
        attentional = np.tanh(combine[0] @ np.concatenate([context, x]) + combine[1])
        hidden.append(attentional)
        rows.append(weights)
    return np.array(hidden), np.array(rows)


BAHDANAU = ("bahdanau", "bahdanau-linear", "bahdanau-tied-deep", "bahdanau-word")
LUONG = ("luong", "luong-plain", "luong-deep", "luong-gru", "luong-gru-plain", "luong-gru-deep")
CASES = [*((name, bahdanau) for name in BAHDANAU), *((name, luong) for name in LUONG)]


@pytest.mark.parametrize(("name", "oracle"), CASES)
@torch.no_grad()
def test_recurrence_equals_the_papers(name: str, oracle) -> None:
    model = tiny_model(name)
    sources = random_sources(LENGTHS)
    source, mask = padded(sources, extra=2)
    targets = random_targets(len(sources), 6)
    hidden = model(source, mask, targets)
    (weights,) = model.forced_weights(source, mask, targets, [0])
    for row, sentence in enumerate(sources):
        states, expected = oracle(model, sentence, targets[row].tolist())
        np.testing.assert_allclose(array(hidden[row]), states, rtol=0, atol=1e-10)
        np.testing.assert_allclose(array(weights[row, 0, :, : len(sentence)]), expected, rtol=0, atol=1e-6)


def test_impossible_options_are_refused() -> None:
    additive = attention("additive")
    with pytest.raises(ValueError, match=r"readout: expected one of maxout, linear, got 'max'"):
        BahdanauRNN(19, 23, additive, readout="max")
    with pytest.raises(ValueError, match=r"cell: expected one of lstm, gru, got 'rnn'"):
        LuongRNN(19, 23, additive, cell="rnn")
    for kind in (BahdanauRNN, LuongRNN):
        with pytest.raises(ValueError, match=r"tie: expected one of none, target, all, got 'both'"):
            kind(19, 23, additive, tie="both")
        with pytest.raises(ValueError, match="one vocabulary"):
            kind(19, 23, additive, tie="all")


def test_forget_gates_begin_open_and_recurrent_matrices_orthogonal() -> None:
    sizes = {"embedding_size": 5, "encoder_size": 7, "decoder_size": 11}
    model = LuongRNN(19, 23, attention("general"), **sizes, tie="target")
    for gate in model.cell.weight_hh_l0.split(11):
        torch.testing.assert_close(gate @ gate.T, torch.eye(11), rtol=0, atol=1e-5)
    bias = (model.cell.bias_ih_l0 + model.cell.bias_hh_l0).split(11)
    assert [gate.unique().tolist() for gate in bias] == [[0.0], [1.0], [0.0], [0.0]]
