"""How many pairs of each corpus of a mixture an epoch draws."""

from dataclasses import dataclass

from translate.config.data import DataConfig, Stage, stages_of
from translate.corpora.columns.orders import Staged, WeightedRows

ENDS = {
    "all": "the last corpus has been seen whole",
    "first": "the first corpus has been seen whole",
    "size": "as many pairs as all corpora have",
}


@dataclass(frozen=True)
class Mixture:
    """The corpora of a mixture, whose training pairs follow one another.

    Attributes:
        data: the settings.
        sizes: name of each corpus -> its number of training pairs.
        tags: words that stand before the sources.
    """

    data: DataConfig
    sizes: dict[str, int]
    tags: tuple[str, ...] = ()

    def orders(self, seed: int) -> Staged:
        """The order of the pairs in training."""
        stages, counts = stages_of(self.data), tuple(self.sizes.values())
        ends = tuple(stage.until for stage in stages if stage.until is not None)
        return Staged(
            tuple(WeightedRows(counts, tuple(self.drawn(stage).values()), seed) for stage in stages), ends
        )

    def drawn(self, stage: Stage) -> dict[str, int]:
        """Name of each corpus -> how many of its pairs an epoch draws."""
        shares = self._shares(stage)
        wholes = [size / shares[name] for name, size in self.sizes.items() if shares[name]]
        totals = {"all": max(wholes), "first": min(wholes), "size": sum(self.sizes.values())}
        limit = self.data.max_repetitions
        found = {}
        for name, size in self.sizes.items():
            wanted = round(totals[self.data.epoch_ends] * shares[name])
            most = wanted if limit is None else int(limit * size)
            found[name] = min(most, max(1, wanted)) if shares[name] else 0
        return found

    def lines(self) -> list[str]:
        """What each corpus contributes, for the user."""
        stages, begin, found = stages_of(self.data), 0, []
        for stage in stages:
            drawn = self.drawn(stage)
            total = sum(drawn.values())
            parts = [
                f"{name} {100 * count / total:.1f} % ({count / self.sizes[name]:.3g} times)"
                for name, count in drawn.items()
            ]
            end = "on" if stage.until is None else f"to {stage.until:,}"
            steps = f" from step {begin + 1:,} {end}" if len(stages) > 1 else ""
            found.append(f"an epoch{steps} draws {total:,} pairs: {', '.join(parts)}")
            begin = stage.until or 0
        return [*found, f"an epoch ends when {ENDS[self.data.epoch_ends]} (data.epoch_ends)"]

    def _shares(self, stage: Stage) -> dict[str, float]:
        """The wanted share of each corpus; they sum to 1."""
        power = 1 / self.data.temperature
        weights = {
            name: stage.weights.get(name, 0.0) if stage.weights else size**power
            for name, size in self.sizes.items()
        }
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()}
