"""``python -m translate``: the command, also where its script is not on the path."""

from translate.cli.main import main

if __name__ == "__main__":
    main()
