#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// A value as it stands in the text of a schedule.
struct ScheduleValue {
  enum class Kind : std::uint8_t {
    kInteger,   ///< integer
    kText,      ///< text: what stands between the quotes
    kName,      ///< text: of a knob, or of what was assigned
    kKeyword,   ///< text: one of the language (`local`, `lanes`)
    kCall,      ///< text: the function; args
    kOperator,  ///< text; one or two args
    kItem,      ///< args: a list, a position
    kList,      ///< args: the values of a knob
  };
  Kind kind = Kind::kInteger;
  std::int64_t integer = 0;
  std::string text;
  std::vector<ScheduleValue> args;
  std::size_t offset = 0;  ///< in the text it was read from, for messages
};

/// One statement of it.
struct ScheduleStatement {
  enum class Kind : std::uint8_t {
    kAssign,   ///< names = value; without names a call for what it does
    kKnob,     ///< names[0] = value, `second`: its default, if there is one
    kWhere,    ///< value: of the workload, `second`: the reason of a refusal
    kRequire,  ///< value: of the config, `second` as of kWhere
    kIf,       ///< value, inner, otherwise
  };
  Kind kind = Kind::kAssign;
  std::vector<std::string> names;
  ScheduleValue value;
  std::vector<ScheduleValue> second;  ///< none or one
  std::vector<ScheduleStatement> inner, otherwise;
  bool of_config = false;    ///< what it makes depends on knobs
  bool of_schedule = false;  ///< it, or something in it, touches stages and loops
  std::size_t offset = 0;
};

/// A template that is a text (docs/schedules.md): for which workloads, knobs, and primitives.
struct ScheduleText {
  std::string name;                    ///< as its author calls it
  std::vector<std::string> operators;  ///< names as in keys of workloads
  std::string device;                  ///< DeviceTraits::name
  std::vector<ScheduleStatement> statements;
  bool winograd = false;  ///< asks for Winograd's algorithm: floats are not only summed differently

  std::string text;  ///< in canonical form: what is hashed, recorded and handed on
  /// "schedule/<name>-<160 bits of the SHA-256 of `text`>", as of a template.
  std::string key;
  std::string source, file;  ///< as it was read, and from where: for lines and columns of messages
};

// Limits of what is read: texts beyond them are refused.
inline constexpr std::size_t kMaxScheduleBytes = 64 * 1024;
inline constexpr std::size_t kMaxScheduleStatements = 2048;
inline constexpr std::size_t kMaxScheduleValues = 16384;  ///< parts of values
inline constexpr int kMaxScheduleDepth = 64;              ///< of brackets and blocks in one another
inline constexpr std::int64_t kMaxKnobValues = 4096;
inline constexpr std::size_t kMaxScheduleKnobs = 32;

/// The version of templates that are texts; raised when the meaning of a text changes.
inline constexpr int kScheduleTextVersion = 1;

/// Reads a text. file: named in messages.
/// Errors: kInvalidArgument with file, line, column and what was expected.
Result<ScheduleText> ParseScheduleText(std::string_view text, std::string_view file = "schedule");

/// Canonical form of the statements: one a line, no comments; reads back as the same.
std::string CanonicalScheduleText(const ScheduleText& schedule);

/// "file:line:column: what".
std::string AtOffset(const ScheduleText& schedule, std::size_t offset, std::string_view what);

/// The key that programs of before November 24, 2026 gave the text: of another hash, for which a
/// second text can be made on purpose. Stores and packages of theirs have it.
std::string LegacyScheduleKey(const ScheduleText& schedule);

/// Whether a key is that of the text, or its former one, which then becomes the schedule's: a text
/// is known by the name that the records beside it have.
bool AcceptScheduleKey(std::string_view key, ScheduleText& schedule);

/// Whether a template's key is that of a text.
bool IsScheduleTextKey(std::string_view key);

}  // namespace tilewright
