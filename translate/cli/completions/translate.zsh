#compdef translate
# Completion of `translate` for zsh: asks the command itself, and offers files where it has nothing to say.
_translate_completions() {
    local -a found names
    found=("${(@f)$(translate --complete "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}")
    found=(${found:#})
    if (( ! $#found )); then
        _files
        return
    fi
    names=(${(M)found:#*[=.]})  # behind the name of a setting comes its value: no space
    found=(${found:#*[=.]})
    (( $#names )) && compadd -Q -S '' -- $names
    (( $#found )) && compadd -Q -- $found
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _translate_completions translate
