#include "src/runtime/thread_pool.h"

#include <string>

namespace tilewright {

Result<ThreadPool> ThreadPool::Create(int threads, bool pin) {
  if (threads < 1) {
    return InvalidArgument("threads: " + std::to_string(threads) + ", expected at least 1");
  }
  TwPoolOptions options = TwPoolDefaults(threads);
  options.pin = pin ? 1 : 0;
  TwPool* pool = TwPoolCreate(&options);
  if (pool == nullptr) return Unavailable("cannot start " + std::to_string(threads) + " threads");
  return ThreadPool(pool);
}

}  // namespace tilewright
