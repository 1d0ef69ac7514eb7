"""The help of ``translate train``: its options, examples, and the choices of every group."""

import textwrap
from collections.abc import Mapping, Sequence

WIDTH = 80  # characters
HELP = """\
Usage: translate train [NAME=VALUE ...] [OPTIONS]

Train a translator. Each setting has a default; name the ones to change.
`translate settings` lists them all.

Examples:
  translate train experiment=demo_transformer       a small Transformer on the
                                                    embedded corpus: minutes
  translate train                                   a larger one, 20,000 steps:
                                                    hours on a CPU
  translate train model=rnn_bahdanau data=multi30k  another model and corpus
  translate train model=rnn_luong model/attention=concat
                                                    another attention mechanism
  translate train training.max_steps=500 optimizer.lr=2e-3 run.name=first
                                                    other values
  translate train --multirun training.seed=1,2,3    a sweep: three runs
  translate train --config-dir my_conf experiment=mine
                                                    your files beside conf/
  translate train model=rnn_luong --cfg job         show the configuration

Choices (* marks the default):
{choices}

Options:
  -m, --multirun         train once for each combination of values with commas
  -c, --cfg job          show the configuration and exit; with --resolve,
                         --package training
  -cd, --config-dir DIR  a folder with groups as in conf/, for example
                         DIR/experiment/mine.yaml
  -cn, --config-name F   the primary file, instead of config.yaml
  --info                 show how Hydra composed the configuration
  --hydra-help           show Hydra's own options
  -h, --help             show this text

The run is written to runs/NAME (run.name, run.directory). run.overwrite=true
replaces a finished run; training.resume=true continues one.
"""


def help_text(choices: Mapping[str, Sequence[str]], defaults: Mapping[str, str]) -> str:
    """The help, with the choices of each group and its default."""
    lines = []
    for group, names in choices.items():
        marked = [f"{name}*" if defaults.get(group) == name else name for name in names]
        text = f"  {group:<20} {', '.join(marked)}"
        lines += textwrap.wrap(text, WIDTH, subsequent_indent=" " * 23, break_on_hyphens=False)
    return HELP.format(choices="\n".join(lines))
