"""``translate train``: a Hydra application, checked before anything is read or built."""

import io
import re
import sys
import tempfile
import zlib
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from translate.cli.console import (
    READER_GONE,
    WRONG_USE,
    print_error,
    print_system_error,
    silence_stdout,
    unbuffer_lines,
)
from translate.cli.train_help import help_text
from translate.errors import UserError
from translate.version import __version__

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from translate.config.composer import Composer

# Hydra reads its own options, --help included.
CONTEXT_SETTINGS = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}

EXCLUDED = "hydra.job.config.override_dirname.exclude_keys"
MAX_SUFFIX = 150  # characters; a file name has 255 bytes

# The options of Hydra's command line that take a value, and those that are switches.
VALUES = (
    ("--cfg", "-c"),
    ("--package", "-p"),
    ("--config-path", "-cp"),
    ("--config-name", "-cn"),
    ("--config-dir", "-cd"),
    ("--experimental-rerun",),
    ("--info", "-i"),
)
SWITCHES = (
    ("--help", "-h"),
    ("--hydra-help",),
    ("--resolve",),
    ("--run", "-r"),
    ("--multirun", "-m"),
    ("--shell-completion", "-sc"),
)
CHOICES = {
    "--cfg": ("job", "hydra", "all"),
    "--info": ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath"),
}


def train(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE]...")] = None,
) -> None:
    """Train a translator: translate train model=rnn_bahdanau data=multi30k."""
    unbuffer_lines()
    options = _parse(arguments or [])
    if options.help:
        composer = _composer(options)
        print(help_text(composer.choices(), composer.chosen()), end="")
        return
    config = None
    if not (options.hydra_help or options.shell_completion):
        options.overrides, config = _checked(options)
    if config is None or _needs_hydra(options):
        _run_hydra(options)
    else:  # Hydra would compose the same configuration twice more, and do nothing else
        run_job(config)


def run_job(config: "DictConfig") -> None:
    """One job of Hydra: trains, and exits with the code of :func:`translate.runs.life.train`."""
    from hydra.core.hydra_config import HydraConfig

    from translate.runs.life import train as build_and_train

    if HydraConfig.initialized():
        _name_job(config, HydraConfig.get())
    try:
        code: int | str | None = build_and_train(config)
    except SystemExit as leaving:
        code = leaving.code
    except UserError as error:
        print_error(error)
        code = WRONG_USE
    except BrokenPipeError:
        silence_stdout()
        code = READER_GONE
    except OSError as error:  # Hydra would print a traceback
        code = print_system_error(error)
    if code:
        raise SystemExit(code)


def job_suffix(overrides: Sequence[str], excluded: Sequence[str]) -> str:
    """The overrides that vary in a sweep, as part of a file name: ``model=a,training.seed=2``."""
    overrides = [override.lstrip("+") for override in overrides]
    varied = [override for override in overrides if override.split("=")[0] not in (*excluded, "run.name")]
    suffix = re.sub(r"[^\w.=,+@-]+", "-", ",".join(varied)).strip("-")
    if len(suffix) <= MAX_SUFFIX:
        return suffix
    return f"{suffix[:MAX_SUFFIX]}-{zlib.crc32(suffix.encode()):08x}"  # jobs may differ in what is cut


def _name_job(config: "DictConfig", hydra_config: Any) -> None:
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    if hydra_config.mode != RunMode.MULTIRUN:
        return
    excluded = hydra_config.job.config.override_dirname.exclude_keys
    suffix = job_suffix(hydra_config.overrides.task, excluded)
    if suffix:
        OmegaConf.update(config, "run.name", f"{config.run.name}-{suffix}")
    print(f"--- job {hydra_config.job.num}: {config.run.name}")


class _Parser(ArgumentParser):
    """Reads the same options as Hydra, and raises ``UserError`` instead of exiting."""

    def __init__(self) -> None:
        super().__init__(prog="translate train", add_help=False)
        self.add_argument("overrides", nargs="*", default=[])
        for flags in SWITCHES:
            self.add_argument(*flags, action="store_true", default=False)
        for flags in VALUES:
            optional: dict[str, Any] = {"nargs": "?", "const": "all"} if flags[0] == "--info" else {}
            self.add_argument(*flags, choices=CHOICES.get(flags[0]), default=None, **optional)

    def error(self, message: str) -> NoReturn:
        raise UserError(f"translate train: {message}")


def _parse(arguments: Sequence[str]) -> Namespace:
    from translate.config.names import did_you_mean, nearest, shorten

    if "--version" in arguments:
        print(f"translate {__version__}")
        raise typer.Exit()
    options, unknown = _Parser().parse_known_intermixed_args(list(arguments))
    for option in unknown:
        near = nearest(option, (flag for flags in (*SWITCHES, *VALUES) for flag in flags))
        raise UserError(f"{shorten(option)}: no such option of translate train{did_you_mean(near)}")
    modes = ("run", "multirun", "cfg", "info")
    given = [f"--{mode}" for mode in modes if getattr(options, mode)]
    if len(given) > 1:
        raise UserError(f"{' and '.join(given)} exclude each other")
    if options.resolve and not options.cfg:
        raise UserError("--resolve goes with --cfg only")
    if options.experimental_rerun is not None:
        raise UserError(
            "--experimental-rerun: not supported, since it runs code of the file that it reads; give the "
            "settings of the run instead (they are in its config.yaml)"
        )
    return options


def _composer(options: Namespace) -> "Composer":
    from translate.config.composer import Composer

    return Composer(
        [Path(options.config_dir)] if options.config_dir else [],
        config_name=options.config_name or "config",
        root=Path(options.config_path).absolute() if options.config_path else None,
    )


def _checked(options: Namespace) -> "tuple[list[str], DictConfig | None]":
    """The overrides as Hydra wants them, after every job that they make has been composed and checked.

    Returns:
        The overrides, and the configuration of the last job.
    """
    composer = _composer(options)
    overrides = list(options.overrides)
    multirun = options.multirun or "hydra.mode=MULTIRUN" in overrides
    completed = composer.complete(overrides, multirun=multirun)
    config = None
    for job in composer.jobs(overrides) if multirun else [overrides]:
        config = composer.compose(job, _check_job)
    if multirun:
        completed.append(f"{EXCLUDED}=[{','.join(composer.fixed(overrides))}]")
    return completed, config


def _check_job(config: "DictConfig") -> None:
    """Check the settings; then that the files of the corpus are there, without waiting for torch."""
    from translate.config.data import data_config
    from translate.config.settings import check_config
    from translate.config.values import plain
    from translate.corpora.presence import check_present

    values = plain(config)
    data, training = values.get("data"), values.get("training")
    if isinstance(data, dict) and isinstance(training, dict) and training.get("resume") is not True:
        check_present(data_config(data))  # a finished run needs its corpus no more
    check_config(config)


def _needs_hydra(options: Namespace) -> bool:
    """Whether Hydra does more than compose: it shows, sweeps, or has settings or files of the user's own."""
    given = (options.multirun, options.cfg, options.info, options.config_dir, options.config_path)
    own = any(override.lstrip("+~").startswith("hydra") for override in options.overrides)
    return own or any(given) or options.config_name is not None


def _run_hydra(options: Namespace) -> None:
    import hydra

    from translate.config.names import config_directory

    application: Callable[[], None] = hydra.main(
        version_base="1.3", config_path=str(config_directory()), config_name="config"
    )(run_job)
    before = sys.argv
    with tempfile.TemporaryDirectory() as scratch:
        overrides = list(options.overrides)
        own = any(override.startswith(("hydra.sweep.", "hydra/launcher")) for override in overrides)
        if options.multirun and not own:
            overrides.append(f"hydra.sweep.dir='{scratch}'")  # where Hydra leaves its multirun.yaml
        sys.argv = [f"{Path(before[0]).name} train", *_flags(options), *overrides]
        shown = io.StringIO()
        shows = options.cfg or options.info or options.hydra_help
        try:
            with redirect_stdout(shown) if shows else nullcontext():
                application()
        finally:
            sys.argv = before
            # Printed here, not by Hydra, which would answer a reader that left with a traceback.
            print(shown.getvalue(), end="")


def _flags(options: Namespace) -> list[str]:
    """The options as Hydra's own parser reads them."""
    found = []
    for flag, *_ in (*SWITCHES, *VALUES):
        value = getattr(options, flag.removeprefix("--").replace("-", "_"))
        if flag == "--config-path" and value:
            value = Path(value).absolute()  # Hydra would look beside this file
        if value not in (None, False):
            found.append(flag if value is True else f"{flag}={value}")
    return found
