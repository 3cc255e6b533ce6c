/*
 * For preloaded libraries: functions that pass arguments on unchanged, in whole registers, whatever their types. This
 * works for ABIs that pass integers and pointers alike, each in one register or in eight bytes: those of x86-64 and
 * 64-bit Arm on Linux.
 */
#ifndef NVT_PASS_ON_H
#define NVT_PASS_ON_H

#include <stdint.h>

typedef intptr_t word;

/* The parameters of a function of so many, and these behind something else in a list. */
#define PARAMETERS_0  void
#define PARAMETERS_1  word a
#define PARAMETERS_2  PARAMETERS_1, word b
#define PARAMETERS_3  PARAMETERS_2, word c
#define PARAMETERS_4  PARAMETERS_3, word d
#define PARAMETERS_5  PARAMETERS_4, word e
#define PARAMETERS_6  PARAMETERS_5, word f
#define PARAMETERS_7  PARAMETERS_6, word g
#define PARAMETERS_8  PARAMETERS_7, word h
#define PARAMETERS_9  PARAMETERS_8, word i
#define PARAMETERS_10 PARAMETERS_9, word j
#define PARAMETERS_11 PARAMETERS_10, word k
#define PARAMETERS_12 PARAMETERS_11, word l
#define PARAMETERS_13 PARAMETERS_12, word m
#define GIVEN_0
#define GIVEN_1  , a
#define GIVEN_2  GIVEN_1, b
#define GIVEN_3  GIVEN_2, c
#define GIVEN_4  GIVEN_3, d
#define GIVEN_5  GIVEN_4, e
#define GIVEN_6  GIVEN_5, f
#define GIVEN_7  GIVEN_6, g
#define GIVEN_8  GIVEN_7, h
#define GIVEN_9  GIVEN_8, i
#define GIVEN_10 GIVEN_9, j
#define GIVEN_11 GIVEN_10, k
#define GIVEN_12 GIVEN_11, l
#define GIVEN_13 GIVEN_12, m

#endif
