// Spaces of open tasks as texts. The grammar, in which statements need no separators:
//   text      = ["space" name] { knob | require }
//   knob      = "knob" name "=" values ["default" constant]
//   values    = "{" constant { "," constant } "}"
//             | ("range" | "powers" | "divisors") "(" integer { "," integer } ")"
//   require   = "require" condition ["else" text]
// A condition ends before the next keyword. Its tokens become a T1 expression.

#include "src/templates/open/space_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/divisors.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/templates/text/scanner.h"

namespace tilewright {
namespace {

using TokenKind = ScheduleTokenKind;

constexpr std::array<std::string_view, 5> kKeywords = {"space", "knob", "require", "else",
                                                       "default"};

constexpr std::array<std::string_view, 10> kReservedWords = {
    "and", "or", "not", "min", "max", "ceil_div", "True", "true", "False", "false"};
constexpr std::size_t kMaxKnobs = 256;

class SpaceParser {
 public:
  SpaceParser(std::string_view text, std::string_view file) {
    source_.source = text;
    source_.file = file;
  }

  Result<OpenSpace> Parse() {
    TW_RETURN_IF_ERROR(Advance());
    std::string name;
    if (Is("space")) {
      TW_RETURN_IF_ERROR(Advance());
      TW_ASSIGN_OR_RETURN(name, Name("the name of the space"));
    }
    while (token_.kind != TokenKind::kEnd) {
      if (Is("knob")) {
        TW_RETURN_IF_ERROR(ParseKnob());
      } else if (Is("require")) {
        TW_RETURN_IF_ERROR(ParseRequire());
      } else {
        return Expected("knob or require");
      }
    }
    if (parameters_.empty()) return Expected("a knob");
    auto space = OpenSpace::Create(std::move(name), std::move(parameters_), std::move(conditions_));
    if (!space.ok()) return space.status().WithContext(source_.file);
    return space;
  }

 private:
  bool Is(std::string_view word) const {
    return (token_.kind == TokenKind::kName || token_.kind == TokenKind::kPunctuation) &&
           token_.text == word;
  }
  bool IsKeyword() const {
    return token_.kind == TokenKind::kName &&
           std::ranges::find(kKeywords, token_.text) != kKeywords.end();
  }
  Status ErrorAt(std::size_t offset, std::string_view what) const {
    return InvalidArgument(AtOffset(source_, offset, what));
  }
  Status Expected(std::string_view what) const {
    const std::string found =
        token_.kind == TokenKind::kEnd ? "the end" : fmt::format("'{}'", token_.text);
    return ErrorAt(token_.offset, fmt::format("{}, expected {}", found, what));
  }
  Status Advance() {
    TW_ASSIGN_OR_RETURN(token_, NextScheduleToken(source_, position_));
    return {};
  }
  Status Take(std::string_view sign) {
    if (!Is(sign)) return Expected(fmt::format("'{}'", sign));
    return Advance();
  }
  Result<std::string> Name(std::string_view what) {
    if (token_.kind != TokenKind::kName || IsKeyword()) return Expected(what);
    std::string name(token_.text);
    TW_RETURN_IF_ERROR(Advance());
    return name;
  }

  Result<std::int64_t> Integer() {
    const bool negative = Is("-");
    if (negative) TW_RETURN_IF_ERROR(Advance());
    if (token_.kind != TokenKind::kInteger) return Expected("an integer");
    const auto number = ParseInt64(token_.text);
    if (!number.ok()) return ErrorAt(token_.offset, "the integer has more than 63 bits");
    TW_RETURN_IF_ERROR(Advance());
    return negative ? -*number : *number;
  }

  Result<ParameterValue> Constant() {
    if (token_.kind == TokenKind::kText) {
      ParameterValue text = std::string(token_.text);
      TW_RETURN_IF_ERROR(Advance());
      return text;
    }
    if (token_.kind != TokenKind::kInteger && !Is("-")) return Expected("an integer or a text");
    TW_ASSIGN_OR_RETURN(const std::int64_t number, Integer());
    return ParameterValue(number);
  }

  /// Parses the values of a knob.
  Result<std::vector<ParameterValue>> Values() {
    std::vector<ParameterValue> values;
    if (Is("{")) {
      do {
        TW_RETURN_IF_ERROR(Advance());
        TW_ASSIGN_OR_RETURN(ParameterValue value, Constant());
        values.push_back(std::move(value));
      } while (Is(","));
      TW_RETURN_IF_ERROR(Take("}"));
      return values;
    }
    const std::size_t offset = token_.offset;
    const std::string function(token_.text);
    if (function != "range" && function != "powers" && function != "divisors") {
      return Expected("values: {…}, range(…), powers(…) or divisors(…)");
    }
    TW_RETURN_IF_ERROR(Advance());
    TW_RETURN_IF_ERROR(Take("("));
    std::vector<std::int64_t> arguments;
    do {
      if (!arguments.empty()) TW_RETURN_IF_ERROR(Advance());
      TW_ASSIGN_OR_RETURN(const std::int64_t argument, Integer());
      arguments.push_back(argument);
    } while (Is(","));
    TW_RETURN_IF_ERROR(Take(")"));
    const std::size_t count = function == "range" ? 2 : 1;
    if (arguments.size() != count) {
      return ErrorAt(
          offset, fmt::format("{} of {} numbers, expected {}", function, arguments.size(), count));
    }
    return List(function, arguments, offset);
  }

  Result<std::vector<ParameterValue>> List(const std::string& function,
                                           const std::vector<std::int64_t>& arguments,
                                           std::size_t offset) const {
    constexpr std::int64_t kMaxNumber = std::int64_t{1} << 40;
    const std::int64_t first = arguments[0], last = arguments.back();
    std::vector<ParameterValue> values;
    if (std::max(first, last) > kMaxNumber || std::min(first, last) < -kMaxNumber ||
        (function != "range" && first < 1)) {
      return ErrorAt(offset, function + " of numbers that are too small or too large");
    }
    if (function == "range") {
      if (last - first >= kMaxKnobValues) return ErrorAt(offset, TooMany());
      for (std::int64_t i = first; i <= last; ++i) values.emplace_back(i);
      if (values.empty()) return ErrorAt(offset, "a range without a number");
    } else if (function == "powers") {
      for (std::int64_t i = 1; i <= first; i *= 2) values.emplace_back(i);
    } else {
      for (const std::int64_t divisor : Divisors(first)) values.emplace_back(divisor);
    }
    return values;
  }
  static std::string TooMany() { return fmt::format("more than {} values", kMaxKnobValues); }

  Status ParseKnob() {
    if (parameters_.size() >= kMaxKnobs) {
      return ErrorAt(token_.offset, fmt::format("more than {} knobs", kMaxKnobs));
    }
    TW_RETURN_IF_ERROR(Advance());
    Parameter parameter;
    const std::size_t offset = token_.offset;
    TW_ASSIGN_OR_RETURN(parameter.name, Name("the name of the knob"));
    if (std::ranges::find(kReservedWords, parameter.name) != kReservedWords.end()) {
      return ErrorAt(offset, fmt::format("'{}' is a word of conditions", parameter.name));
    }
    if (!names_.insert(parameter.name).second) {
      return ErrorAt(offset, fmt::format("a second knob '{}'", parameter.name));
    }
    TW_RETURN_IF_ERROR(Take("="));
    const std::size_t values = token_.offset;
    TW_ASSIGN_OR_RETURN(parameter.values, Values());
    if (std::ssize(parameter.values) > kMaxKnobValues) return ErrorAt(values, TooMany());
    const bool text = std::holds_alternative<std::string>(parameter.values[0]);
    for (const ParameterValue& value : parameter.values) {
      if (std::holds_alternative<std::string>(value) != text) {
        return ErrorAt(values, "integers and texts in one knob");
      }
    }
    parameter.type = text ? ParameterType::kText : ParameterType::kInteger;
    parameter.ordered = !text;
    parameter.default_value = parameter.values[0];
    if (Is("default")) TW_RETURN_IF_ERROR(ParseDefault(parameter));
    parameters_.push_back(std::move(parameter));
    return {};
  }

  /// The default is the value, or else the largest number that is not above it.
  Status ParseDefault(Parameter& parameter) {
    TW_RETURN_IF_ERROR(Advance());
    const std::size_t offset = token_.offset;
    TW_ASSIGN_OR_RETURN(const ParameterValue asked, Constant());
    std::optional<ParameterValue> found;
    for (const ParameterValue& value : parameter.values) {
      const auto *most = std::get_if<std::int64_t>(&asked),
                 *number = std::get_if<std::int64_t>(&value);
      const bool fits = most != nullptr && number != nullptr && *number <= *most &&
                        (!found || std::get<std::int64_t>(*found) < *number);
      if (value == asked || fits) found = value;
    }
    if (!found) return ErrorAt(offset, "the default is none of the values");
    parameter.default_value = std::move(found);
    return {};
  }

  Status ParseRequire() {
    TW_RETURN_IF_ERROR(Advance());
    if (token_.kind == TokenKind::kEnd || IsKeyword()) return Expected("a condition");
    std::string condition;
    TW_RETURN_IF_ERROR(Condition(condition, 0));
    if (token_.kind != TokenKind::kEnd && !IsKeyword()) return Expected("an operator");
    conditions_.push_back(std::move(condition));
    if (!Is("else")) return {};
    TW_RETURN_IF_ERROR(Advance());
    if (token_.kind != TokenKind::kText) return Expected("the reason, a text");
    return Advance();
  }

  /// Appends the expression up to a comma, a closing parenthesis or a keyword.
  Status Condition(std::string& out, int depth) {
    if (depth > kMaxScheduleDepth) return ErrorAt(token_.offset, "nested too deep");
    while (token_.kind != TokenKind::kEnd && !IsKeyword() && !Is(",") && !Is(")")) {
      TW_RETURN_IF_ERROR(Operand(out, depth));
      out += ' ';
    }
    if (!out.empty()) out.pop_back();
    return {};
  }

  Status Operand(std::string& out, int depth) {
    if (token_.kind == TokenKind::kText) {
      out += fmt::format("\"{}\"", token_.text);
    } else if (token_.kind == TokenKind::kInteger) {
      out += token_.text;
    } else if (token_.kind == TokenKind::kName) {
      return Word(out, depth);
    } else if (Is("(")) {
      TW_RETURN_IF_ERROR(Advance());
      std::string inner;
      TW_RETURN_IF_ERROR(Condition(inner, depth + 1));
      out += "(" + inner + ")";
      if (!Is(")")) return Expected("')'");
    } else if (Is("/")) {
      out += "//";  // schedules divide integers
    } else if (Is("[") || Is("]") || Is("{") || Is("}") || Is("=")) {
      return Expected("an operator or a value");
    } else {
      out += token_.text;
    }
    return Advance();
  }

  Status Word(std::string& out, int depth) {
    const std::string word(token_.text);
    const std::size_t offset = token_.offset;
    TW_RETURN_IF_ERROR(Advance());
    if (word == "and" || word == "or" || word == "not" || names_.contains(word)) {
      out += word;
      return {};
    }
    if (word != "min" && word != "max" && word != "ceil_div") {
      return ErrorAt(offset, fmt::format("'{}' is not a knob above", word));
    }
    TW_RETURN_IF_ERROR(Take("("));
    std::string a, b;
    TW_RETURN_IF_ERROR(Condition(a, depth + 1));
    TW_RETURN_IF_ERROR(Take(","));
    TW_RETURN_IF_ERROR(Condition(b, depth + 1));
    TW_RETURN_IF_ERROR(Take(")"));
    out += word == "ceil_div" ? fmt::format("(-(-({}) // ({})))", a, b)
                              : fmt::format("{}({}, {})", word, a, b);
    return {};
  }

  ScheduleText source_;
  std::size_t position_ = 0;
  ScheduleToken token_;
  std::set<std::string> names_;
  std::vector<Parameter> parameters_;
  std::vector<std::string> conditions_;
};

}  // namespace

Result<OpenSpace> ParseSpaceText(std::string_view text, std::string_view file) {
  if (text.size() > kMaxScheduleBytes) {
    return InvalidArgument(
        fmt::format("{}: {} bytes, expected at most {}", file, text.size(), kMaxScheduleBytes));
  }
  return SpaceParser(text, file).Parse();
}

bool IsT1Text(std::string_view contents) {
  const std::size_t first = contents.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first == std::string_view::npos || contents[first] == '{' || contents[first] == '[';
}

Result<OpenSpace> LoadOpenSpace(const std::string& path) {
  TW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  if (!IsT1Text(text)) return ParseSpaceText(text, path);
  Result<OpenSpace> space = OpenSpace::ParseT1(text);
  if (!space.ok()) return space.status().WithContext(path);
  return space;
}

}  // namespace tilewright
