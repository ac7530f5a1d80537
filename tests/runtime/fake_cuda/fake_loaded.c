/* An artifact that is a library: its constructor reveals the loading process. */

#include <stdlib.h>

__attribute__((constructor)) static void Loaded(void) { setenv("TW_TEST_LOADED", "1", 1); }
