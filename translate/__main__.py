"""The ``translate`` command, and ``python -m translate``."""

import signal


def main() -> None:
    """Run the command line; while its modules are imported, Ctrl-C ends the process without a word."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not of a shell's background job, which ignores it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from translate.cli.main import main as run

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
