# fish completion of nvtally. Commands and options come from the program's own --help.
function __nvtally_commands
    nvtally --help 2>/dev/null | string replace -rf '^  ([a-z]+)  +(.*)' '$1\t$2'
end

function __nvtally_options
    set -l line (commandline -opc)
    nvtally $line[2] --help 2>/dev/null | string match -ra -- '--[a-z][a-z-]*' | sort -u
end

complete -c nvtally -n __fish_use_subcommand -f -a '(__nvtally_commands)'
complete -c nvtally -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' \
    -f -a '(__nvtally_options)'

# Behind `record … --` stands another command: what fish knows of that one.
function __nvtally_recorded
    set -l line (commandline -opc) (commandline -ct)
    set -l at (contains -i -- -- $line)
    complete -C (string join ' ' -- $line[(math $at + 1)..])
end

complete -c nvtally -n 'contains -- -- (commandline -opc)' -f -a '(__nvtally_recorded)'
