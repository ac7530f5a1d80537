#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// Value in the text of a schedule, as parsed.
struct ScheduleValue {
  enum class Kind : std::uint8_t {
    kInteger,   ///< integer
    kText,      ///< text: without the quotes
    kName,      ///< text: of a knob, or of an assigned variable
    kKeyword,   ///< text: a word of the language (`local`, `lanes`)
    kCall,      ///< text: the function; args
    kOperator,  ///< text; one or two args
    kItem,      ///< args: a list, a position
    kList,      ///< args: the values of a knob
  };
  Kind kind = Kind::kInteger;
  std::int64_t integer = 0;
  std::string text;
  std::vector<ScheduleValue> args;
  std::size_t offset = 0;  ///< in the source, for messages
};

/// Statement of the text of a schedule.
struct ScheduleStatement {
  enum class Kind : std::uint8_t {
    kAssign,   ///< names = value; without names a call for its effect
    kKnob,     ///< names[0] = value; `second`: the default, if any
    kWhere,    ///< value: condition on the workload; `second`: the reason of a refusal
    kRequire,  ///< value: condition on the config; `second` as in kWhere
    kIf,       ///< value, inner, otherwise
  };
  Kind kind = Kind::kAssign;
  std::vector<std::string> names;
  ScheduleValue value;
  std::vector<ScheduleValue> second;  ///< none or one
  std::vector<ScheduleStatement> inner, otherwise;
  bool of_config = false;    ///< its result depends on knobs
  bool of_schedule = false;  ///< it, or a part of it, touches stages and loops
  std::size_t offset = 0;
};

/// Template that is a text (docs/schedules.md): the workloads it serves, its knobs, and its
/// primitives.
struct ScheduleText {
  std::string name;                    ///< given by its author
  std::vector<std::string> operators;  ///< names as in keys of workloads
  std::string device;                  ///< DeviceTraits::name
  std::vector<ScheduleStatement> statements;
  bool winograd =
      false;  ///< uses Winograd's algorithm: float results differ by more than the order of sums

  std::string text;  ///< in canonical form, which is hashed, recorded and sent
  /// "schedule/<name>-<160 bits of the SHA-256 of `text`>", as of a template.
  std::string key;
  std::string source, file;  ///< as read, and its file: for lines and columns of messages
};

// Limits of texts; longer ones are rejected.
inline constexpr std::size_t kMaxScheduleBytes = 64 * 1024;
inline constexpr std::size_t kMaxScheduleStatements = 2048;
inline constexpr std::size_t kMaxScheduleValues = 16384;  ///< parts of values
inline constexpr int kMaxScheduleDepth = 64;              ///< nesting of brackets and blocks
inline constexpr std::int64_t kMaxKnobValues = 4096;
inline constexpr std::size_t kMaxScheduleKnobs = 32;

/// The version of templates that are texts; raised when the meaning of a text changes.
inline constexpr int kScheduleTextVersion = 1;

/// Parses a text. file: named in messages.
/// Errors: kInvalidArgument with file, line, column and the expected token.
Result<ScheduleText> ParseScheduleText(std::string_view text, std::string_view file = "schedule");

/// Returns the canonical form of the statements: one a line, without comments. Parsing it gives the
/// same schedule.
std::string CanonicalScheduleText(const ScheduleText& schedule);

/// Returns "file:line:column: what".
std::string AtOffset(const ScheduleText& schedule, std::size_t offset, std::string_view what);

/// Returns the key that programs of before November 24, 2026 gave the text. Its hash is another
/// one, for which a second text can be constructed. Stores and packages of these programs have it.
std::string LegacyScheduleKey(const ScheduleText& schedule);

/// Whether a key is that of the text, or its former one. The former key then becomes the
/// schedule's, so that the text has the name that the records next to it use.
bool AcceptScheduleKey(std::string_view key, ScheduleText& schedule);

}  // namespace tilewright
