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

/// Reduced search space of a task whose legal configs have all been measured, for replay of
/// searches without a device.
///
/// Text form: lines "# <key> <value>" (version, workload, target, epilogue, device, metric unless
/// it is seconds, and for each space "template <key> <version>" followed by its "knob <name> <kept
/// digits> <kept values>", the values as a list in JSON), then one line
/// "<space>,<index>,<outcome>,<value>" per config. Indices refer to the reduced space. Recordings
/// may lack the values of knobs; they can be replayed only with the same version of the template.
struct RecordedSpace {
  /// Values of one knob that the reduced space keeps.
  struct KeptKnob {
    std::string name;
    std::vector<std::int64_t> digits;  ///< in the template's own space
    std::vector<std::string> values;   ///< of the digits, as KnobValue::ToString; may be empty
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
  /// Parses the text form. Errors: kInvalidArgument with the line.
  static Result<RecordedSpace> Parse(std::string_view text);
  static Result<RecordedSpace> Load(const std::string& path);

  /// Returns the reduced space. Errors: kNotFound if a template or knob value no longer exists, or
  /// if the recording lacks the values and the template has another version.
  Result<SearchSpace> Space(const TemplateRegistry& templates) const;
  /// Returns a sentence for each template of another version than the recorded one. The values of
  /// such a recording are those of the recorded version, but its features those of this version.
  std::vector<std::string> OtherVersions(const TemplateRegistry& templates) const;
  /// Returns the row of a point; null if there is none (a static check rejected the point).
  const Row* Find(Point point) const;
  /// Returns the value of the fastest row; 0 if none is ok.
  double best_value() const;
};

/// Returns a recorded space without rows. Drops knob values evenly until the task's spaces hold
/// about `configs` configs in total; the preferred template gets most of them. Keeps default
/// configs.
RecordedSpace PlanRecordedSpace(const SearchSpace& space, std::int64_t configs);

/// Measures the configs of the plan that have no row. Calls `progress` after every trial with
/// (rows, legal configs); if it returns false, stops early. Errors: the measurer's.
Status RecordSpace(const TemplateRegistry& templates, RecordedSpace& recorded_space,
                   measure::Measurer& measurer,
                   const std::function<bool(std::size_t, std::size_t)>& progress);

/// Static analyzer with the features of the template; rejects points that were not recorded.
class RecordedSpaceAnalyzer final : public StaticAnalyzer {
 public:
  /// recorded_space, space: have to outlive the analyzer.
  RecordedSpaceAnalyzer(const RecordedSpace& recorded_space, const SearchSpace& space)
      : recorded_space_(recorded_space), templates_(space) {}
  Status Check(Point point) const override;
  Status Features(Point point, std::span<float> out) const override;

 private:
  const RecordedSpace& recorded_space_;
  TemplateAnalyzer templates_;
};

}  // namespace tilewright::search
