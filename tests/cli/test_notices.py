"""A warning for the user is printed as one, any other as Python prints it."""

import subprocess
import sys

PROGRAM = """
import warnings
from translate.cli.notices import print_notices
from translate.errors import UserNotice

print_notices()
warnings.warn("no installed font draws Tibetan", UserNotice)
warnings.warn("a bug", UserWarning)
"""


def test_only_what_is_for_the_user_looks_so() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    first, second = found.stderr.splitlines()[:2]
    assert first == "warning: no installed font draws Tibetan"
    assert second.endswith("UserWarning: a bug")
