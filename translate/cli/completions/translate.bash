# Completion of `translate` for bash: asks the command itself, and offers files where it has nothing to say.
_translate_completions() {
    local line="${COMP_LINE:0:COMP_POINT}" typed before="" separators="" found
    typed="${line##*[[:space:]]}"
    # Readline replaces only what stands behind the last separator, such as the = of NAME=VALUE.
    [[ $COMP_WORDBREAKS == *=* ]] && separators+="="
    [[ $COMP_WORDBREAKS == *:* ]] && separators+=":"
    [[ -n $separators && $typed == *[$separators]* ]] && before="${typed%"${typed##*[$separators]}"}"
    COMPREPLY=()
    while IFS= read -r found; do
        COMPREPLY+=("${found#"$before"}")
    done < <(translate --complete "$line" 2>/dev/null)
    # Behind the name of a setting comes its value, and behind a section a name: no space.
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=.] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o default -F _translate_completions translate
