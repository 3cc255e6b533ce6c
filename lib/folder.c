#include "folder.h"

#include <fcntl.h>
#include <unistd.h>

void nvt_folder_remove(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = nvt_folder_next(folder));)
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(path);
}
