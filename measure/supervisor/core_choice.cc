#include "measure/supervisor/core_choice.h"

#include <utility>

namespace tilewright::measure {

CoreChoice SplitCores(const std::vector<int>& allowed) {
  CoreChoice choice;
  choice.runner = {allowed.back()};
  choice.builders.assign(allowed.begin(), allowed.end() - 1);
  if (choice.builders.empty()) choice.builders = choice.runner;
  return choice;
}

CoreChoice ReserveCores(const std::vector<int>& allowed, const std::string& core_folder) {
  Status refused;
  for (std::size_t count = allowed.size(); count > 0; --count) {
    auto lock = DeviceLock::TakeCore(allowed[count - 1], core_folder);
    if (!lock.ok()) {
      refused = lock.status();
      continue;
    }
    CoreChoice choice = SplitCores({allowed.begin(), allowed.begin() + static_cast<int>(count)});
    choice.lock = *std::move(lock);
    return choice;
  }
  CoreChoice choice = SplitCores(allowed);
  choice.note = "times may be disturbed, no core could be kept for them: " + refused.message();
  return choice;
}

}  // namespace tilewright::measure
