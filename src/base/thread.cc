#include "src/base/thread.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>
#include <vector>

namespace tilewright {

Result<std::thread> StartThread(std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return Unavailable(std::string("cannot start a thread: ") + error.what());
  }
}

void RunInParallel(int threads, std::int64_t count, const std::function<void(std::int64_t)>& fn) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t i = next++; i < count; i = next++) fn(i);
  };
  std::vector<std::thread> others;
  for (std::int64_t i = 1; i < std::min<std::int64_t>(threads, count); ++i) {
    auto thread = StartThread(work);
    if (!thread.ok()) break;  // the started threads do the work
    others.push_back(*std::move(thread));
  }
  work();
  for (std::thread& thread : others) thread.join();
}

}  // namespace tilewright
