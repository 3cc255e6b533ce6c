/* Folders: their entries, and how one of ours goes away. */
#ifndef NVT_FOLDER_H
#define NVT_FOLDER_H

#include <dirent.h>

/* The next entry of a folder that one thread has opened; NULL at the end, or with errno set. */
static inline struct dirent *nvt_folder_next(DIR *folder)
{
    /* cppcheck-suppress readdirCalled ; no two threads share a DIR, and readdir_r() is deprecated */
    return readdir(folder);
}

/* Removes the files of a folder and the folder; what is in folders below it stays, and it then too. */
void nvt_folder_remove(const char *path);

#endif
