"""The names that `import translate` gives, and its time: torch is imported only when it is needed."""

import subprocess
import sys
from importlib.resources import files

import translate


def test_the_public_names_are_listed() -> None:
    names = dir(translate)
    assert {"load", "Translator", "Translation", "TranslateOptions", "attention", "__version__"} <= set(names)
    for name in names:
        assert getattr(translate, name) is not None


def test_the_package_is_typed() -> None:
    assert (files("translate") / "py.typed").is_file()


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, translate; dir(translate); sys.exit('torch' in sys.modules or 'hydra' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_package_runs_as_the_command() -> None:
    command = [sys.executable, "-m", "translate", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert translate.__version__ in done.stdout
