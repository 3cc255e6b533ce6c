/* The version, in this one place. */
#ifndef NVT_VERSION_H
#define NVT_VERSION_H
#define NVT_VERSION "0.1.0"
#endif
