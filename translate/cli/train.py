"""Usage: translate train [NAME=VALUE ...] [OPTIONS]

Train a translator. Name the settings to change; without an experiment, sizes,
rates and steps that you do not name are chosen for the corpus and the time,
which is ten minutes. `translate settings` lists all settings.

Examples:
  translate train experiment=demo_transformer       a small Transformer on the
                                                    embedded corpus: minutes
  translate train data=files data.train.source=train.en
      data.train.target=train.fr training.max_time=3600
                                                    your corpus, an hour
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
  -m, --multirun         train every combination of values with commas; a
                         table of the runs ends it
  -c, --cfg job          show the configuration and exit; with --resolve,
                         --package training
  -cd, --config-dir DIR  a folder with groups as in conf/, for example
                         DIR/experiment/mine.yaml
  -cn, --config-name F   the primary file, instead of config.yaml
  -h, --help             show this text

The run is written to runs/NAME (run.name, run.directory). run.overwrite=true
replaces a finished run; `translate resume runs/NAME` continues one.
"""

# A Hydra application, checked before anything is read or built.

import re
import sys
import tempfile
import textwrap
import zlib
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from translate.cli.console import going_on, print_failure, unbuffer_lines
from translate.config.names import config_directory, did_you_mean, nearest, shorten, shown_path
from translate.errors import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from translate.cli.sweep_table import SweepRun
    from translate.config.composer import Composer

# Hydra reads its own options, --help included.
CONTEXT_SETTINGS = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}

EXCLUDED = "hydra.job.config.override_dirname.exclude_keys"
MAX_SUFFIX = 150  # characters; a file name has 255 bytes
SWEEP_GOES_ON = "the same command with training.resume=true"
WIDTH = 80  # characters of the help
NO_DATA = (
    "note: no data are given, so this is the embedded corpus, which is generated; for your own, give "
    "data=files data.train.source=FILE data.train.target=FILE"
)
HELP = str(__doc__)
# The options of Hydra's command line: those that take a value, with the values allowed, and the switches.
VALUES: dict[tuple[str, ...], tuple[str, ...] | None] = {
    ("--cfg", "-c"): ("job", "hydra", "all"),
    ("--package", "-p"): None,
    ("--config-name", "-cn"): None,
    ("--config-dir", "-cd"): None,
}
SWITCHES = (("--help", "-h"), ("--resolve",), ("--multirun", "-m"))


def train(arguments: Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE]...")] = None) -> None:
    """Train a translator: translate train model=rnn_bahdanau data=multi30k."""
    options = _parse(arguments or [])
    from translate.config.composer import Composer

    folders = [Path(options.config_dir)] if options.config_dir else []
    composer = Composer(folders, config_name=options.config_name or "config")
    if options.help:
        print(_help_text(composer.choices(), composer.chosen()), end="")
        return
    overrides, config = _checked(composer, options.overrides, multirun=options.multirun)
    own = any(key.startswith("hydra") for key in keys_of(overrides))
    if options.multirun or options.cfg or own:
        _run_hydra(options, overrides)
        free = _free(overrides, composer.chosen(overrides), options.config_name) if options.cfg else ()
        if free and options.cfg == "job":
            from translate.runs.recipes import SECTIONS

            shown = {name.split(".")[0] if name.startswith(SECTIONS) else name for name in free}
            names = ", ".join(sorted(shown))
            print(f"# chosen for the corpus and the time when the training starts: {names}")
            print("# in a file for --config-name the values above count: leave out what is to be chosen")
        if options.cfg == "job" and (start := config.training.start_from) is not None:
            print(f"# taken when the training starts: tokenizer and model of {shown_path(start)}")
    else:
        if not options.config_name:
            note_no_data(keys_of(overrides))
        # Hydra would compose the same configuration again, and do nothing else
        run_job(config, _free(overrides, composer.chosen(overrides), options.config_name), keys_of(overrides))


def _free(overrides: Sequence[str], groups: Mapping[str, str], config_name: str | None) -> frozenset[str]:
    """The settings that a recipe may choose; none if the user's file, or an experiment, has them all."""
    from translate.runs.recipes import free_settings

    if config_name not in (None, "config"):
        return frozenset()
    return free_settings(keys_of(overrides), groups)


def keys_of(overrides: Sequence[str]) -> list[str]:
    """The settings and groups that overrides name."""
    return [override.lstrip("+~").partition("=")[0] for override in overrides]


def note_no_data(keys: Sequence[str]) -> None:
    """Say which corpus a training has if no setting names one."""
    if not any(re.match("data|experiment", key) for key in keys):
        print(NO_DATA)


def run_job(
    config: "DictConfig", free: Collection[str] = (), given: Sequence[str] | None = None, goes_on: str = ""
) -> None:
    """Train, and exit with the code of :func:`translate.runs.life.train` unless it is 0.

    Args:
        config: of the run.
        free: the settings that may be chosen for the corpus and the time.
        given: the settings that are given; ``None`` for the stored configuration of a run.
        goes_on: says after a signal how to go on, if not with this run alone.
    """
    unbuffer_lines()
    from translate.runs.fine_tuning import with_model_of_start
    from translate.runs.life import train as build_and_train

    try:
        started = config if given is None else with_model_of_start(config, given)
        code = build_and_train(started, free, goes_on)
    except (UserError, OSError) as error:  # Hydra would print a traceback
        code = print_failure(error)
    if code:
        raise SystemExit(code)


def _run_hydra_job(config: "DictConfig", sweep: "list[SweepRun]") -> None:
    """Run a job of Hydra; a job of a sweep has a run of its own, named after the overrides that vary."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    hydra_config, goes_on = HydraConfig.get(), ""
    if hydra_config.mode == RunMode.MULTIRUN:
        from translate.cli.sweep_table import SweepRun

        goes_on = SWEEP_GOES_ON
        name, suffix = config.run.name, file_suffix(hydra_config.job.override_dirname)
        if suffix:
            OmegaConf.update(config, "run.name", f"{name}-{suffix}")
        print(f"--- job {hydra_config.job.num}: {config.run.name}")
        given = (override.lstrip("+").partition("=") for override in hydra_config.overrides.task)
        excluded = hydra_config.job.config.override_dirname.exclude_keys
        values = {key: value for key, _, value in given if key not in excluded}
        sweep.append(SweepRun(Path(config.run.directory), name, values))
    choices = {str(group): choice for group, choice in hydra_config.runtime.choices.items()}
    overrides = hydra_config.overrides.task
    run_job(config, _free(overrides, choices, hydra_config.job.config_name), keys_of(overrides), goes_on)


def file_suffix(overrides: str) -> str:
    """Overrides as part of a file name: ``model=a,training.seed=2``."""
    suffix = re.sub(r"[^\w.=,@-]+", "-", overrides.replace("+", "")).strip("-")
    if len(suffix) <= MAX_SUFFIX:
        return suffix
    return f"{suffix[:MAX_SUFFIX]}-{zlib.crc32(suffix.encode()):08x}"  # jobs may differ in what is cut


class _Parser(ArgumentParser):
    """Reads the same options as Hydra, and raises ``UserError`` instead of exiting."""

    def __init__(self) -> None:
        super().__init__(prog="translate train", add_help=False, allow_abbrev=False)
        self.add_argument("overrides", nargs="*", default=[])
        for switch in SWITCHES:
            self.add_argument(*switch, action="store_true")
        for flags, choices in VALUES.items():
            self.add_argument(*flags, choices=choices)

    def error(self, message: str) -> NoReturn:
        raise UserError(f"translate train: {message}")


def _parse(arguments: Sequence[str]) -> Namespace:
    arguments = [re.sub("^-(config|conf)(?==|$)", r"--\1", text) for text in arguments]
    options, unknown = _Parser().parse_known_intermixed_args(arguments)
    for option in unknown:
        name, _, file = option.partition("=")
        from translate.config.messages import named_elsewhere, own_file_hint

        if name in ("--config", "--conf"):
            raise UserError(own_file_hint(file or next(iter(options.overrides), name)))
        near = nearest(name, (flag for flags in (*SWITCHES, *VALUES) for flag in flags), 0.8)
        setting = name.lstrip("-").replace("-", "_")
        near = near or named_elsewhere(setting)
        hint = did_you_mean(near) or "; settings are given as NAME=VALUE, see translate settings"
        raise UserError(f"{shorten(option)}: no such option of translate train{hint}")
    if options.multirun and options.cfg:
        raise UserError("--multirun and --cfg exclude each other")
    if options.resolve and not options.cfg:
        raise UserError("--resolve goes with --cfg only")
    home = f"={Path.home()}"  # which a shell writes for ~ at the start of a word alone
    options.overrides = [re.sub("=~(?=/)", lambda _: home, text) for text in options.overrides]
    return options


def _help_text(choices: Mapping[str, Sequence[str]], defaults: Mapping[str, str]) -> str:
    """The help, with the choices of each group and its default."""
    lines = []
    for group, names in choices.items():
        marked = [f"{name}*" if defaults.get(group) == name else name for name in names]
        text = f"  {group:<20} {', '.join(marked)}"
        lines += textwrap.wrap(text, WIDTH, subsequent_indent=" " * 23, break_on_hyphens=False)
    return HELP.format(choices="\n".join(lines))


def _checked(
    composer: "Composer", overrides: Sequence[str], *, multirun: bool
) -> "tuple[list[str], DictConfig]":
    """The overrides as Hydra wants them, after every job that they make has been composed and checked.

    Returns:
        The overrides, and the configuration of the last job.
    """
    if multirun and any(re.fullmatch(r"run\.directory=[^,$]*", text) for text in overrides):
        raise UserError(
            "run.directory: the runs of a sweep would share it; give 'run.directory=DIR/${run.name}'"
        )
    completed = composer.complete(overrides, multirun=multirun)
    for job in composer.jobs(overrides) if multirun else [overrides]:
        config = composer.compose(job, _check_job)
        _refuse_idle(keys_of(job), config, _free(job, composer.chosen(job), composer.config_name))
        if multirun and not config.training.resume:  # or the last job might fail after hours of the others
            from translate.config.settings import check_config
            from translate.runs.checks import check_buildable
            from translate.runs.fine_tuning import with_model_of_start

            check_buildable(check_config(with_model_of_start(config, keys_of(job))))
    if multirun:
        completed.append(f"{EXCLUDED}=[{','.join(['run.name', *composer.fixed(overrides)])}]")
    return completed, config


def _refuse_idle(given: Collection[str], config: "DictConfig", free: Collection[str]) -> None:
    """Raise ``UserError`` for a setting that is given although another one leaves it no effect."""
    training, data, idle = config.training, config.data, dict[str, str]()
    if config.tokenizer.path is not None:
        names = {name for name in given if name.split(".")[0] == "tokenizer"}
        kept = {"tokenizer.path", "tokenizer.shared"}
        idle = dict.fromkeys(names - kept, "beside tokenizer.path, which has its own")
    if not (training.guided_alignment or "training.guided_alignment" in free):
        names = {"training.guided_layer", "training.guided_shift"}
        idle |= dict.fromkeys(names, "without training.guided_alignment, the weight of the loss")
    for split in ("validation", "test"):
        if data[split].source is not None:
            idle[f"data.{split}_pairs"] = f"beside data.{split}.source, which are the pairs"
    idle["hydra.run.dir"] = "on the folder of the run, which is run.directory"
    idle["data.train.gold"] = "on training; the links that guide it are training.guided_links"
    if ignored := sorted(idle.keys() & {*given}):
        raise UserError(f"{ignored[0]}: it has no effect {idle[ignored[0]]}")


def _check_job(config: "DictConfig") -> None:
    """Check the settings; then that the files of the corpus are there, without waiting for torch."""
    from translate.config.data import data_config
    from translate.config.declare import plain
    from translate.config.settings import check_config
    from translate.corpora.local_files import check_present

    values = plain(config)
    data, training = values.get("data"), values.get("training")
    if isinstance(data, dict) and isinstance(training, dict) and training.get("resume") is not True:
        check_present(data_config(data))  # a finished run needs its corpus no more
    check_config(config)


def _run_hydra(options: Namespace, overrides: Sequence[str]) -> None:
    import hydra

    sweep: list[SweepRun] = []  # of this process; those of other launchers stay with their processes

    def job(config: "DictConfig") -> None:
        _run_hydra_job(config, sweep)

    application: Callable[[], None] = hydra.main(
        version_base="1.3", config_path=str(config_directory()), config_name="config"
    )(job)
    before = sys.argv
    with tempfile.TemporaryDirectory() as scratch:
        given = [*_flags(options), *overrides]
        own = any(override.startswith(("hydra.sweep.", "hydra/launcher")) for override in overrides)
        if options.multirun and not own:
            given.append(f"hydra.sweep.dir='{scratch}'")  # where Hydra leaves its multirun.yaml
        sys.argv = [f"{Path(before[0]).name} train", *given]
        try:
            with going_on(SWEEP_GOES_ON):
                application()
        finally:
            sys.argv = before
            _end_sweep(sweep, options.overrides)


def _end_sweep(sweep: "list[SweepRun]", overrides: Sequence[str]) -> None:
    """Print the table of a sweep's runs, and write it beside them; also after one that failed."""
    from translate.cli.sweep_table import write_table
    from translate.runs.run_directory import is_run

    runs = [run for run in sweep if is_run(run.directory)]
    if len(runs) > 1:
        varied = [text for text in overrides if keys_of([text])[0] in runs[0].values]
        path = runs[0].directory.parent / f"{runs[0].name}-{file_suffix(','.join(varied))}.tsv"
        print("---", *write_table(runs, path), sep="\n")


def _flags(options: Namespace) -> list[str]:
    """The options as Hydra's own parser reads them."""
    found = []
    for flag, *_ in (*SWITCHES, *VALUES):
        value = getattr(options, flag.removeprefix("--").replace("-", "_"))
        if value not in (None, False):
            found.append(flag if value is True else f"{flag}={value}")
    return found
