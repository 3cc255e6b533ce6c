/*
 * Student's t at any level, with any number of degrees of freedom, whole or not.
 */
#ifndef NVT_STUDENT_H
#define NVT_STUDENT_H

/*
 * P(|T| >= |t|) with `degrees` > 0: I_x(degrees / 2, 1 / 2) at x = degrees / (degrees + t²), the
 * regularised incomplete beta function by its continued fraction (DLMF 8.17.22, evaluated as in
 * Lentz, "Generating Bessel functions in Mie scattering calculations", 1976).
 */
double nvt_student_tail(double t, double degrees);

/* The t >= 0 whose tail is that, 0 < tail <= 1. */
double nvt_student_at(double tail, double degrees);

#endif
