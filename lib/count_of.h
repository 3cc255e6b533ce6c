/*
 * The number of elements of an array. Compilers warn where it is given a pointer (-Wsizeof-pointer-div).
 */
#ifndef NVT_COUNT_OF_H
#define NVT_COUNT_OF_H

#define NVT_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
