/*
 * What a range says that an entry of PyTorch's flight recorder became (readers/flight.h), between its reader and
 * studies/flight_calls.h. The payload of such a range is flat JSON:
 *
 *   group, purpose   name and description of the process group, as the entry has them
 *   sequence         which of the group's collectives it is (from 1 on), or of the rank's messages in it
 *   state            scheduled, started or completed; "ended" where the backend notes no more than that
 *   library          "nccl", "gloo"
 *   from, to         of a message: ranks of the group
 *   given, taken     sizes and types of what goes in and comes out: "[4, 8] Float"
 *   timed_out        1: its time was up
 *   timeout_ms       when that is
 *   stack            the functions of the program that called, the innermost first: "step (train.py:12) < main (train.py:80)"
 */
#ifndef NVT_FLIGHT_PAYLOAD_H
#define NVT_FLIGHT_PAYLOAD_H

/* Facts of such a trace: the version of the dump; and when the file was last changed, ns since 1970: it was written not later. */
#define NVT_FLIGHT_FACT    "flight recorder"
#define NVT_FLIGHT_WRITTEN "last changed (ns since 1970)"

#endif
