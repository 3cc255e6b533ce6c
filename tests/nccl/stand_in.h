/*
 * Streams for the stand-in for NCCL. On the host there are none, and messages move when they are asked for; the
 * stand-in for CUDA (tests/emulated) lends it its own, and then they move when the stream gets there.
 */
#ifndef NVT_TESTS_NCCL_STAND_IN_H
#define NVT_TESTS_NCCL_STAND_IN_H

/* Have the stream call work(argument) when all that it was given before has run and is_ready(argument) is not 0. */
typedef void (*nccl_on_stream_function)(void *stream, int (*is_ready)(void *argument),
                                        void (*work)(void *argument), void *argument);

/* nccl_stand_in_use_streams, by dlsym: from now on. run_streams: let all streams get as far as they can. */
typedef void (*nccl_use_streams_function)(nccl_on_stream_function on_stream,
                                          void (*run_streams)(void));

#endif
