# Lines "KIND NUMBER…" of rounds in turn, kinds bare, nvtally and nsys: medians, and what each adds to the bare run of its round.
# -v columns="a,b" (headings), -v nvtally=LABEL, -v nsys=LABEL
function median(text, values, n, i, j, kept) {
    n = split(text, values, " ")
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && values[j] + 0 < values[j - 1] + 0; j--) {
            kept = values[j]; values[j] = values[j - 1]; values[j - 1] = kept
        }
    least = values[1]; most = values[n]
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}
function added(name, column, of, i, n, a, b, list) {
    n = split(of["bare", column], a, " "); split(of[name, column], b, " ")
    for (i = 1; i <= n; i++) list = list " " b[i] - a[i]
    return list
}
function row(name, label, c, text) {
    if (!((name, 1) in times)) return
    printf "%-28s", label
    for (c = 1; c <= count; c++) printf " %10.1f", median(times[name, c])
    for (c = 1; name != "bare" && c <= count; c++) {
        text = sprintf("%.0f", median(added(name, c, times)))
        printf "%s%s (%.0f - %.0f)", c == 1 ? "   adds " : ", ", text, least, most
    }
    printf "\n"
}
{ for (c = 2; c <= NF; c++) times[$1, c - 1] = times[$1, c - 1] " " $c }
END {
    count = split(columns, headings, ",")
    printf "%-28s", ""
    for (c = 1; c <= count; c++) printf " %10s", headings[c]
    printf "\n"
    row("bare", "bare"); row("nvtally", nvtally); row("nsys", nsys)
}
