#include "measure/supervisor/core_assignment.h"

#include <optional>
#include <utility>

namespace tilewright::measure {

CoreAssignment SplitCores(const std::vector<int>& allowed) {
  CoreAssignment choice;
  choice.runner = {allowed.back()};
  choice.builders.assign(allowed.begin(), allowed.end() - 1);
  if (choice.builders.empty()) choice.builders = choice.runner;
  return choice;
}

CoreAssignment ReserveCores(const std::vector<int>& allowed, const std::string& core_folder,
                            std::span<const std::string> user_folders) {
  Status refused;
  const auto upto = [&](std::size_t count) {
    return SplitCores({allowed.begin(), allowed.begin() + static_cast<int>(count)});
  };
  std::optional<CoreAssignment> foreign;  // its core is locked by another user
  for (std::size_t count = allowed.size(); count > 0; --count) {
    const int core = allowed[count - 1];
    auto own = DeviceLock::TakeCoreOfUser(core, user_folders);
    if (!own.ok() && own.status().code() == StatusCode::kUnavailable) {
      refused = own.status();
      continue;
    }
    auto lock = DeviceLock::TakeCore(core, core_folder);
    if (!lock.ok()) refused = lock.status();
    if (!lock.ok() && (!own.ok() || foreign)) continue;
    CoreAssignment choice = upto(count);
    if (own.ok()) choice.user_lock = *std::move(own);
    if (lock.ok()) {
      choice.lock = *std::move(lock);
      return choice;
    }
    choice.note = "times may be disturbed: " + lock.status().message();
    foreign = std::move(choice);
  }
  if (foreign) return *std::move(foreign);
  CoreAssignment choice = upto(allowed.size());
  choice.note = "times may be disturbed, no core could be kept for them: " + refused.message();
  return choice;
}

}  // namespace tilewright::measure
