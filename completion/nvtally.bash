# bash completion of nvtally. Commands, options, workloads, reports and formats come from the program itself.
# The last name of a list with commas: what stands before it is kept.
_nvtally_list() {
    local current=$1 before=
    shift
    [[ $current == *,* ]] && before=${current%,*},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$*" -- "${current##*,}")
}
_nvtally() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} previous words i
    local program=${COMP_WORDS[0]}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words=$("$program" --help 2>/dev/null |
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
    previous=${COMP_WORDS[COMP_CWORD - 1]}
    case $command,$previous,$current in
    *,*,-*)
        words=$("$program" "$command" --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*')
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        ;;
    stats,-r,* | stats,--report,*)
        words=$("$program" stats -r list 2>/dev/null | sed 's/ .*//')
        _nvtally_list "$current" "$words"
        ;;
    record,-t,* | record,--trace,*)
        words=$("$program" record --trace list 2>/dev/null | sed 's/ .*//')
        _nvtally_list "$current" "$words"
        ;;
    ctl,ctl,*)
        words=$("$program" ctl --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        ;;
    record,--preset,*)
        mapfile -t COMPREPLY < <(compgen -W python -- "$current")
        ;;
    stats,-f,* | stats,--format,* | compare,-f,* | compare,--format,* | diagnose,-f,* | diagnose,--format,* | reference,-f,* | reference,--format,* | sql,-f,* | sql,--format,* | check,-f,* | check,--format,* | ctl,-f,* | ctl,--format,*)
        words=$("$program" stats -f list 2>/dev/null | sed 's/ .*//')
        _nvtally_list "$current" "$words"
        ;;
    diagnose,--explain,*)
        words=$("$program" diagnose --explain all -f markdown 2>/dev/null | sed -n 's/^# //;T;s/ /-/g;p')
        mapfile -t COMPREPLY < <(compgen -W "all $words" -- "$current")
        ;;
    run,run,* | reference,reference,*)
        words=$("$program" run --help 2>/dev/null | sed -n '2,$s/^\([a-z][a-z]*\): .*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    esac
}
complete -o filenames -F _nvtally nvtally
