"""``translate import``: a pretrained model of others becomes a run."""

from pathlib import Path
from typing import Annotated

import typer

from translate.cli.options import option


def import_model(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A folder in the layout of the Hugging Face hub (config.json, model.safetensors or "
            "pytorch_model.bin, source.spm, target.spm, vocab.json) or of Marian (decoder.yml, .npz, .yml, "
            "source.spm, target.spm), or a name of the hub, whose files stay in the hub's own cache.",
        ),
    ],
    out: Annotated[Path, option("DIR", "Folder of the run, to be created.")],
) -> None:
    """Make a run of a pretrained model: Marian's (OPUS-MT), or what export --format huggingface wrote.

    Every command then takes it like a run that was trained here. Nothing of the model is executed; what
    cannot be represented is refused by name.

    Examples:
      translate import Helsinki-NLP/opus-mt-en-de --out runs/opus-en-de
      translate import downloads/opus-mt-en-de --out runs/opus-en-de
      translate text runs/opus-en-de "I love you."
      translate train training.start_from=runs/opus-en-de ...
    """
    from translate.export.import_run import import_run

    import_run(model, out)
