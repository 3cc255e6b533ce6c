# bash completion of nvtally. Commands and options come from the program's own --help.
_nvtally() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} words i
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words=$("${COMP_WORDS[0]}" --help 2>/dev/null |
            sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$words --help --version" -- "$current")
        return
    fi
    # Behind `record … --` stands another command: its own files and programs.
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [ "${COMP_WORDS[i]}" = -- ]; then
            if [ "$((i + 1))" -eq "$COMP_CWORD" ]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$current")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$current")
            fi
            return
        fi
    done
    case $current in
    -*)
        words=$("${COMP_WORDS[0]}" "$command" --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*')
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    esac
}
complete -o filenames -F _nvtally nvtally
