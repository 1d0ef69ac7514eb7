"""The tensors of a model by name: parameters, shared ones once, and persistent buffers."""

from collections.abc import Mapping

from torch import Tensor, nn


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """What a checkpoint holds of a model: its parameters, shared ones once, and its persistent buffers."""
    parameters = dict(model.named_parameters())
    every_name = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    buffers = {name: tensor for name, tensor in model.state_dict().items() if name not in every_name}
    return {name: tensor.detach() for name, tensor in (parameters | buffers).items()}


def differing_shapes(own: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> list[str]:
    """What tells two models' tensors apart, a sentence each."""
    found = []
    for name in {**other, **own}:
        then, now = other.get(name), own.get(name)
        if then is None or now is None:
            found.append(f"{name} is {'new' if then is None else 'gone'}")
        elif then.shape != now.shape:
            found.append(f"{name} was {tuple(then.shape)}, now {tuple(now.shape)}")
    return found
