"""The command line: a file for each command, a package for each command with subcommands."""
