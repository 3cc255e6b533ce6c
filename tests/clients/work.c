/* The example of documents, which tests/test_roofline.c records. */
#include "../../examples/work.c"
