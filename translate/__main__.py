"""The ``translate`` command, and ``python -m translate``."""

import signal


def main() -> None:
    """Run the command line; while its modules are imported, Ctrl-C ends the process without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from translate.cli.main import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
