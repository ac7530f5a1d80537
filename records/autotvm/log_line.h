#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/space/knob.h"

namespace tilewright::records {

/// Value of one knob in a log line.
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

/// Record line, scanned but not interpreted. Views point into the line. Reading the next line into
/// the same object reuses its memory and needs no allocations.
struct LogLine {
  /// JSON text of [target, task, args, kwargs] (0.1: and workload). Many lines share it.
  std::string_view input;
  /// Format 0.1, which has older task names and arguments.
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
  std::string_view version;  ///< version of the format as JSON; empty: not stated

  std::span<const std::int64_t> Ints(const LogEntity& e) const {
    return std::span(ints).subspan(e.first, e.count);
  }
  std::span<const std::string_view> Words(const LogEntity& e) const {
    return std::span(words).subspan(e.first, e.count);
  }
  /// Returns the mean of the costs.
  double cost() const;
  /// Appends the entities as JSON text. kSameConfig writes -1 as the first factor of every split:
  /// two lines with equal texts have the same config. kSpaced is AutoTVM's spacing.
  enum class Style : std::uint8_t { kCompact, kSameConfig, kSpaced };
  void AppendEntities(std::string& out, Style style) const;
  void Clear();

  std::vector<std::int64_t> ints;
  std::vector<std::string_view> words;
};

/// Maximum length of a line in bytes; the longest line of the public packages has 745.
inline constexpr std::size_t kMaxLogLine = 1 << 16;

/// Scans one line of an AutoTVM log, format 0.2 or 0.1. Accepts keys in any order and skips unknown
/// keys.
/// Errors: kInvalidArgument with the column and what was expected there; kUnsupported for pickled
/// lines and for lines that state another format.
Status ParseLogLine(std::string_view text, LogLine& line);

/// Scans a list of entities in the form that AppendEntities writes.
Status ParseEntities(std::string_view text, LogLine& line);

/// Converts the value to Tilewright's representation. A float becomes text, because no template has
/// a float knob.
KnobValue KnobValueOf(const LogLine& line, const LogEntity& entity);

}  // namespace tilewright::records
