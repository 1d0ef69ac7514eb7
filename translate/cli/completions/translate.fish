# Completion of `translate` for fish: asks the command itself; files are offered, too.
complete -c translate -a '(translate --complete (commandline -cp | string collect) 2>/dev/null)'
