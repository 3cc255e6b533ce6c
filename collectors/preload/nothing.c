/*
 * libnvtally-preload-NAME.so stands in LD_PRELOAD for libnvtally-NAME.so: it has nothing in it and needs nothing, so that every
 * loader takes it. Its dynamic section names the other as auxiliary (DT_AUXILIARY), which glibc's loader puts in front of it. A loader
 * that knows no such entry, musl's, would end the program over what the other library needs of glibc.
 */
typedef int nvt_nothing; /* a source has to have something */
