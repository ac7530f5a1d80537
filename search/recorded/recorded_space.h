#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "measure/measurer.h"
#include "search/static_analyzer.h"
#include "search/strategy.h"

namespace tilewright::search {

/// A part of a task's search space of which every legal config has been measured, so that a search
/// can be replayed on it without a device.
///
/// Text form: lines "# <key> <value>" (version, workload, target, epilogue, device, metric unless
/// it is seconds, and for each space "template <key> <version>" followed by its "knob <name> <kept
/// digits>"), then one line
/// "<space>,<index>,<outcome>,<value>" per config. Indices are those of the reduced space.
struct RecordedSpace {
  /// The values of one knob that were kept, as digits of the template's own space.
  struct KeptKnob {
    std::string name;
    std::vector<std::int64_t> digits;
    friend bool operator==(const KeptKnob&, const KeptKnob&) = default;
  };
  struct ReducedSpace {
    std::string template_key;
    int template_version = 0;
    std::vector<KeptKnob> knobs;
    friend bool operator==(const ReducedSpace&, const ReducedSpace&) = default;
  };
  struct Row {
    Point point;
    Outcome outcome = Outcome::kInvalid;
    double value = 0;  ///< of the metric; 0 unless ok
    friend bool operator==(const Row&, const Row&) = default;
  };
  Task task;
  Epilogue epilogue;
  std::string device;
  std::string metric = "seconds";
  std::vector<ReducedSpace> spaces;
  std::vector<Row> rows;  ///< sorted by point

  std::string ToString() const;
  /// Errors: kInvalidArgument with the line.
  static Result<RecordedSpace> Parse(std::string_view text);
  static Result<RecordedSpace> Load(const std::string& path);

  /// The reduced space. Errors: kNotFound if a template or knob value does not exist any more.
  Result<SearchSpace> Space(const TemplateRegistry& templates) const;
  /// What was measured at a point; null if nothing (refused by a static check then).
  const Row* Find(Point point) const;
  /// Of the fastest row; 0 if none is ok.
  double best_value() const;
};

/// A landscape without rows: each space of the task reduced, by dropping knob values evenly, to its
/// share of about `configs` configs (the preferred template gets most). Default configs are kept.
RecordedSpace PlanRecordedSpace(const SearchSpace& space, std::int64_t configs);

/// Measures what the plan holds and no row says yet. `progress` is called after every trial with
/// (rows, legal configs) and returns false to stop early.
/// Errors: the measurer's.
Status RecordSpace(const TemplateRegistry& templates, RecordedSpace& recorded_space,
                   measure::Measurer& measurer,
                   const std::function<bool(std::size_t, std::size_t)>& progress);

/// Features of the template; a point that was not recorded counts as refused.
class RecordedSpaceAnalyzer final : public StaticAnalyzer {
 public:
  /// Both outlive the inspector.
  RecordedSpaceAnalyzer(const RecordedSpace& recorded_space, const SearchSpace& space)
      : recorded_space_(recorded_space), templates_(space) {}
  Status Check(Point point) const override;
  Status Features(Point point, std::span<float> out) const override;

 private:
  const RecordedSpace& recorded_space_;
  TemplateAnalyzer templates_;
};

}  // namespace tilewright::search
