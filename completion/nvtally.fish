# fish completion of nvtally. Commands, options, workloads, reports and formats come from the program itself.
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

# What stands in the second place of the line, and the word before the one that is completed.
function __nvtally_at
    set -l line (commandline -opc)
    contains -- "$line[2]" (string split , -- $argv[1]); and contains -- $line[-1] (string split , -- $argv[2])
end

# Names with what stands before the last comma of a list in front of each.
function __nvtally_list
    set -l before (string match -r '.*,' -- (commandline -ct))
    printf "$before%s\n" $argv
end

complete -c nvtally -n '__nvtally_at stats -r,--report' -f \
    -a '(__nvtally_list (nvtally stats -r list 2>/dev/null | string replace -r " .*" ""))'
complete -c nvtally -n '__nvtally_at stats,compare,diagnose,reference,sql,check,ctl -f,--format' -f \
    -a '(nvtally stats -f list 2>/dev/null | string replace -r " .*" "")'
complete -c nvtally -n '__nvtally_at ctl ctl' -f \
    -a '(nvtally ctl --help 2>/dev/null | string replace -rf "^  ([a-z]+)  +.*" "\$1")'
complete -c nvtally -n '__nvtally_at run,reference run,reference' -f \
    -a '(nvtally run --help 2>/dev/null | string match -v "usage*" | string replace -rf "^([a-z]+): .*" "\$1")'
complete -c nvtally -n '__nvtally_at record -t,--trace' -f \
    -a '(__nvtally_list (nvtally record --trace list 2>/dev/null | string replace -r " .*" ""))'
complete -c nvtally -n '__nvtally_at record --preset' -f -a python
complete -c nvtally -n '__nvtally_at diagnose --explain' -f \
    -a '(nvtally diagnose --explain all -f markdown 2>/dev/null | string replace -rf "^# " "" | string replace -a " " "-"; echo all)'
