#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/space/knob.h"

namespace tilewright::records {

/// Value of one knob as a log line has it.
struct LogEntity {
  enum class Scalar : std::uint8_t { kInts, kWords, kInt, kBool, kReal, kText };
  std::string_view name;
  KnobKind kind = KnobKind::kOther;
  Scalar scalar = Scalar::kInt;
  std::size_t first = 0, count = 0;  ///< kInts, kWords: place in the line's pools
  std::int64_t integer = 0;          ///< kInt, kBool
  double real = 0;                   ///< kReal
  std::string_view text;             ///< kText
};

/// One record line, read but not interpreted. Views point into the line. Reading the next line into
/// the same object reuses its memory, so that a million lines cost no allocations.
struct LogLine {
  /// JSON text of [target, task, args, kwargs] (0.1: and workload); many lines share it.
  std::string_view input;
  /// Format 0.1, whose task names and arguments are older ones.
  bool legacy = false;
  std::string_view legacy_template;  ///< 0.1: "direct", "winograd", …

  std::int64_t index = 0;
  std::string_view code_hash;  ///< empty: none
  std::vector<LogEntity> entities;

  std::vector<double> costs;  ///< seconds
  std::int64_t error = 0;     ///< 0: measured
  double all_cost = 0;        ///< seconds for build, upload and run
  double timestamp = 0;       ///< Unix seconds when the measurement ended
  std::string_view tvm_version;
  std::string_view version;  ///< of the format, JSON; empty: not said

  std::span<const std::int64_t> Ints(const LogEntity& e) const {
    return std::span(ints).subspan(e.first, e.count);
  }
  std::span<const std::string_view> Words(const LogEntity& e) const {
    return std::span(words).subspan(e.first, e.count);
  }
  /// Mean of the costs.
  double cost() const;
  /// JSON text of the entities. kSameConfig has -1 as first factor of every split: two lines with
  /// equal texts are the same config. kSpaced is AutoTVM's own spelling.
  enum class Style : std::uint8_t { kCompact, kSameConfig, kSpaced };
  void AppendEntities(std::string& out, Style style) const;
  void Clear();

  std::vector<std::int64_t> ints;
  std::vector<std::string_view> words;
};

/// Longest line that is read, in bytes; the longest of the public packages has 745.
inline constexpr std::size_t kMaxLogLine = 1 << 16;

/// Reads one line of AutoTVM's log, format 0.2 or 0.1, keys in any order, unknown keys skipped.
/// Errors: kInvalidArgument with the column and what was expected there; kUnsupported for pickled
/// lines, and those that say they are of another format.
Status ParseLogLine(std::string_view text, LogLine& line);

/// Reads a list of entities as AppendEntities writes it.
Status ParseEntities(std::string_view text, LogLine& line);

/// The value as this project holds it; a float becomes text, as no template has one.
KnobValue KnobValueOf(const LogLine& line, const LogEntity& entity);

}  // namespace tilewright::records
