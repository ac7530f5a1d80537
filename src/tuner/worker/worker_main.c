/* tuner-worker LIBRARY KIND ARGUMENT...: builds or runs candidates for a program that embeds the
 * tuner. All that it does is in the library, which the program names. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*Work)(int, char**);

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "tuner-worker: started by libtilewright_tuner, not by hand\n");
    return 2;
  }
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != NULL ? dlsym(library, "tilewright_tuner_work") : NULL;
  if (symbol == NULL) {
    const char* why = dlerror();
    fprintf(stderr, "tuner-worker: %s\n", why != NULL ? why : argv[1]);
    return 2;
  }
  Work work;
  memcpy(&work, &symbol, sizeof work); /* C has no conversion of the one to the other */
  return work(argc - 2, argv + 2);
}
