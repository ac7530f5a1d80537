#include "src/base/thread.h"

#include <system_error>
#include <utility>

namespace tilewright {

Result<std::thread> StartThread(std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return Unavailable(std::string("cannot start a thread: ") + error.what());
  }
}

}  // namespace tilewright
