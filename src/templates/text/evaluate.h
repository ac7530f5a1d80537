#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/target/cpu.h"
#include "src/target/target.h"
#include "src/templates/text/schedule_text.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Loop of a stage.
struct ScheduleLoop {
  StageId stage;
  LoopId loop;
};

/// Value of an expression in the text of a schedule.
using ScheduleTerm =
    std::variant<std::int64_t, std::string, std::vector<std::int64_t>, StageId, ScheduleLoop>;

/// Evaluator of the statements of a text for one workload and target. It keeps the first failure
/// and does nothing after it.
class ScheduleEvaluator {
 public:
  /// All arguments outlive this.
  ScheduleEvaluator(const ScheduleText& text, const Workload& workload, const Target& target);
  virtual ~ScheduleEvaluator() = default;
  ScheduleEvaluator(const ScheduleEvaluator&) = delete;
  ScheduleEvaluator& operator=(const ScheduleEvaluator&) = delete;

  const Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  /// Keeps the first failure, with line and column.
  void Fail(std::size_t offset, std::string_view what);

  ScheduleTerm Value(const ScheduleValue& value);
  std::int64_t Integer(const ScheduleValue& value);
  std::string Text(const ScheduleValue& value);
  std::vector<std::int64_t> List(const ScheduleValue& value);
  void Set(const std::string& name, ScheduleTerm term) { names_[name] = std::move(term); }

 protected:
  /// Calls a function of stages, loops or layouts; returns 0 or more results.
  virtual std::vector<ScheduleTerm> Act(const ScheduleValue& call);
  /// Calls any function.
  std::vector<ScheduleTerm> Call(const ScheduleValue& call);

  const ScheduleText& text_;
  const Workload& workload_;
  const Target& target_;

 private:
  ScheduleTerm Word(const ScheduleValue& value);
  ScheduleTerm Operator(const ScheduleValue& value);
  ScheduleTerm Item(const ScheduleValue& value);
  ScheduleTerm OfWorkload(const ScheduleValue& call);
  ScheduleTerm Numbers(const ScheduleValue& call);
  ScheduleTerm Range(std::size_t offset, std::int64_t low, std::int64_t high);
  /// Returns the type of the tensor that a word or a text names.
  TensorType TypeOf(const ScheduleValue& tensor);
  const CpuFeatures& Features(std::size_t offset);

  std::map<std::string, ScheduleTerm> names_;
  bool has_features_ = false;
  CpuFeatures features_;
  Status status_;
};

}  // namespace tilewright
