#include "src/base/stack.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cstddef>

namespace tilewright {
namespace {

// Usual default of systems: parsers of nested files, the code generator and SQLite assume it.
constexpr std::size_t kStackBytes = std::size_t{8} << 20;

struct Call {
  int (*main)(int, char**);
  int argc;
  char** argv;
  int exit_code;
};

void* Make(void* call) {
  auto* made = static_cast<Call*>(call);
  made->exit_code = made->main(made->argc, made->argv);
  return nullptr;
}

}  // namespace

int RunWithLargeStack(int (*main)(int, char**), int argc, char** argv) {
  struct rlimit limit {};
  const bool known = ::getrlimit(RLIMIT_STACK, &limit) == 0;
  if (!known || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kStackBytes) {
    return main(argc, argv);
  }
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  ::pthread_setattr_default_np(&attributes);  // for threads created later
  Call call{main, argc, argv, 0};
  pthread_t thread;
  const bool made = ::pthread_create(&thread, &attributes, &Make, &call) == 0;
  ::pthread_attr_destroy(&attributes);
  if (!made) return main(argc, argv);  // use the existing stack
  ::pthread_join(thread, nullptr);
  return call.exit_code;
}

}  // namespace tilewright
