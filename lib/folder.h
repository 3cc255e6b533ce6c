/* Folders: their entries, and how they are made. */
#ifndef NVT_FOLDER_H
#define NVT_FOLDER_H

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* The next entry of a folder that one thread has opened; NULL at the end, or with errno set. */
static inline struct dirent *nvt_folder_next(DIR *folder)
{
    /* cppcheck-suppress readdirCalled ; no two threads share a DIR, and readdir_r() is deprecated */
    return readdir(folder);
}

/* Whether an open file or folder belongs to this user, and nobody else may use it. */
static inline int nvt_is_ours_alone(int descriptor)
{
    struct stat status;
    return !fstat(descriptor, &status) && status.st_uid == geteuid() && !(status.st_mode & 077);
}

/* Make the folder and those above it, where they are not there; of a file those that it lies in. 0, or -1
 * with errno. */
int nvt_folder_make(const char *path);
int nvt_folder_make_above(const char *file);

#endif
