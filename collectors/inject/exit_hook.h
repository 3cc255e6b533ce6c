/*
 * A last word before _exit: it runs no exit handlers, and programs that fork (Python's os._exit
 * among them) end by it.
 */
#ifndef NVT_EXIT_HOOK_H
#define NVT_EXIT_HOOK_H

/*
 * From now on _exit and _Exit, called from any object that is loaded now, call `before` first. This library is loaded
 * by dlopen, too late to interpose libc's symbols, so the objects' own tables of addresses are changed. Returns how
 * many addresses were.
 */
unsigned nvt_exit_hook(void (*before)(void));

#endif
