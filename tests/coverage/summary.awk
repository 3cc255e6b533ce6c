# gcovr's CSV (file, lines, lines run, …) to one line a folder, the files with most lines that no test
# runs, and 1 when a folder is below `least` per cent.
BEGIN { FS = "," }
NR == 1 || $1 !~ /\.c$/ { next }
{
    folder = $1
    sub(/\/.*/, "/", folder)
    lines[folder] += $2
    run[folder] += $3
    all += $2
    all_run += $3
    left[$1] = $2 - $3
}
END {
    for (folder in lines) {
        share = 100 * run[folder] / lines[folder]
        printf "%-14s %6d of %6d lines %6.1f %%%s\n", folder, run[folder], lines[folder], share,
            share < least ? "  below " least " %" : ""
        low += share < least
    }
    printf "%-14s %6d of %6d lines %6.1f %%\n", "all", all_run, all, all ? 100 * all_run / all : 0
    exit low > 0 || !all
}
