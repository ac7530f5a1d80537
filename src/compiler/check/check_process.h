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

/// What the process that waits for a check knows of an operator. Long names are cut.
struct CheckedOperator {
  char value[192] = {}, op[192] = {}, kernel[64] = {};
  std::int64_t macs = 0, bytes = 0;
};

/// Which operator's kernel runs at the moment, in memory that a check shares with the process that
/// waits for it. Lock-free.
class CheckProgress {
 public:
  CheckProgress() = default;
  /// operators: room for them in the same memory, all zero.
  explicit CheckProgress(std::span<CheckedOperator> operators) : operators_(operators) {}

  /// The operators that are counted below; of very many only the first are known by name. Before
  /// any of them runs.
  void SetOperators(const std::vector<OperatorReport>& operators);
  /// Nothing for a number beyond those.
  const CheckedOperator* Operator(std::size_t op) const {
    return op < operators_.size() && op < static_cast<std::size_t>(count_) ? &operators_[op]
                                                                           : nullptr;
  }
  void Begin(std::int64_t op) {
    operator_ = op;
    ++changes_;
  }
  /// What runs now is no kernel of the library. Also before what no operator is said of, which may
  /// wait from then on.
  void End() { Begin(kNone); }
  std::optional<std::size_t> current() const {
    const std::int64_t op = operator_;
    return op < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(op));
  }
  /// Counts what began and ended.
  std::uint64_t changes() const { return changes_; }

 private:
  static constexpr std::int64_t kNone = -1;
  std::span<CheckedOperator> operators_;
  std::atomic<std::int64_t> count_{0};
  std::atomic<std::int64_t> operator_{kNone};
  std::atomic<std::uint64_t> changes_{0};
};

/// What a process that checks a library said, or how it ended without a word.
struct CheckProcessResult {
  Status status;     ///< of the check; kInternal, naming the operator, if its kernel broke it off
  std::string json;  ///< what the check returned, if ok
  /// The operator whose kernel crashed or did not end.
  std::optional<std::size_t> broken;
};

/// Runs a check of a library in a process forked from this one, so that a kernel that crashes or
/// does not end takes nothing along. The process ends with the calling thread. check: may start
/// threads.
///
/// operators: of the library, where they are known; else the check says them to its progress.
/// seconds: how long the kernel of one may run: of processor time, or
/// three times as long of the clock; longer where it has much to do. What is no kernel may take its
/// time.
/// idle_seconds: how long it may wait without using a processor before its first operator begins.
CheckProcessResult RunCheckProcess(
    const std::function<Result<nlohmann::ordered_json>(CheckProgress&)>& check,
    const std::vector<OperatorReport>& operators, double seconds, double idle_seconds = 60);

}  // namespace tilewright
