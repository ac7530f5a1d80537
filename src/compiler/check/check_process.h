#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/options/report.h"

namespace tilewright {

/// An operator as the process that waits for a check sees it. Long names are cut.
struct CheckedOperator {
  char value[192] = {}, op[192] = {}, kernel[64] = {};
  std::int64_t macs = 0, bytes = 0;
};

/// Number of the operator whose kernel runs, in memory that a check shares with the process that
/// waits for it. Lock-free.
class CheckProgress {
 public:
  CheckProgress() = default;
  /// operators: storage for them in the same memory, zeroed.
  explicit CheckProgress(std::span<CheckedOperator> operators) : operators_(operators) {}

  /// Sets the operators that Begin numbers. Only the first ones are known by name if there are very
  /// many. Call it before any of them runs.
  void SetOperators(const std::vector<OperatorReport>& operators);
  /// Returns null for a number beyond those.
  const CheckedOperator* Operator(std::size_t op) const {
    return op < operators_.size() && op < static_cast<std::size_t>(count_) ? &operators_[op]
                                                                           : nullptr;
  }
  void Begin(std::int64_t op) {
    operator_ = op;
    ++changes_;
  }
  /// Marks that no kernel of the library runs. Also marks the beginning of work that no operator is
  /// reported for, which may wait from then on.
  void End() { Begin(kNone); }
  std::optional<std::size_t> current() const {
    const std::int64_t op = operator_;
    return op < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(op));
  }
  /// Returns the number of begins and ends.
  std::uint64_t changes() const { return changes_; }

 private:
  static constexpr std::int64_t kNone = -1;
  std::span<CheckedOperator> operators_;
  std::atomic<std::int64_t> count_{0};
  std::atomic<std::int64_t> operator_{kNone};
  std::atomic<std::uint64_t> changes_{0};
};

/// Result of a process that checks a library, or the reason why it ended without one.
struct CheckProcessResult {
  Status
      status;  ///< of the check; kInternal, naming the operator, if its kernel broke the check off
  std::string json;  ///< what the check returned, if ok
  /// The operator whose kernel crashed or did not end.
  std::optional<std::size_t> broken;
};

/// Runs a check of a library in a forked process, so that a kernel that crashes or does not end
/// harms nothing else. The process ends with the calling thread. check: may start threads.
///
/// operators: those of the library, if known; else the check passes them to its progress. seconds:
/// time limit of one operator's kernel, in processor time, or three times as long in wall time;
/// longer for large operators. Other work has no limit. idle_seconds: limit of waiting without
/// processor time before the first operator begins.
CheckProcessResult RunCheckProcess(
    const std::function<Result<nlohmann::ordered_json>(CheckProgress&)>& check,
    const std::vector<OperatorReport>& operators, double seconds, double idle_seconds = 60);

}  // namespace tilewright
