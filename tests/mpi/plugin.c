/*
 * A library that is loaded for itself alone, and MPI with it.
 */
#include <inttypes.h>

int MPI_Barrier(intptr_t communicator);
void run(void);

void run(void)
{
    MPI_Barrier(20);
}
