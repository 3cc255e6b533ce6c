/*
 * Files that are built into the program.
 */
#ifndef NVT_EMBED_H
#define NVT_EMBED_H

/*
 * Declares `symbol` and `symbol`_end, between which the file's bytes lie, with a '\0' behind them. The path is that from the folder in
 * which the compiler runs, the repository's root. Make does not see the file: an object's rule names it.
 */
#define NVT_EMBED(symbol, path)                                                                    \
    __asm__(".pushsection .rodata, \"a\"\n"                                                        \
            ".global " #symbol "\n.global " #symbol "_end\n" #symbol ":\n.incbin \"" path          \
            "\"\n" #symbol "_end:\n.byte 0\n.popsection\n");                                       \
    extern const char symbol[], symbol##_end[]

#endif
