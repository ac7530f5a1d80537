#include "src/templates/open/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/space/open/value_json.h"

namespace tilewright {
namespace {

constexpr std::size_t kMaxFields = 64;
constexpr std::size_t kMaxFieldBytes = 64;

bool IsFieldName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxFieldBytes && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

}  // namespace

Status CheckProblem(const Problem& problem) {
  if (problem.size() > kMaxFields) {
    return InvalidArgument(
        fmt::format("{} members, expected at most {}", problem.size(), kMaxFields));
  }
  for (std::size_t i = 0; i < problem.size(); ++i) {
    const auto& [name, value] = problem[i];
    if (!IsFieldName(name)) {
      return InvalidArgument(fmt::format("\"{}\": expected 1 to {} letters, digits, '_', '-', '.'",
                                         Printable(name.substr(0, kMaxFieldBytes)),
                                         kMaxFieldBytes));
    }
    if (i > 0 && problem[i - 1].first >= name) return InvalidArgument("\"" + name + "\" twice");
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && (text->size() > kMaxFieldBytes || Printable(*text) != *text)) {
      return InvalidArgument(fmt::format("\"{}\": expected a printable text of at most {} bytes",
                                         name, kMaxFieldBytes));
    }
    const auto* number = std::get_if<double>(&value);
    if (number != nullptr && !std::isfinite(*number)) {
      return InvalidArgument("\"" + name + "\": expected a finite number");
    }
  }
  return {};
}

Result<Problem> ParseProblem(std::string_view json) {
  TW_ASSIGN_OR_RETURN(const Json object, ParseJson(json));
  if (!object.is_object()) return InvalidArgument("expected a JSON object");
  if (object.size() > kMaxFields) return InvalidArgument("more than 64 members");
  Problem problem;
  for (const auto& [name, member] : object.items()) {
    auto value = ParameterValueFromJson(member);
    if (!value.ok()) return value.status().WithContext("\"" + Printable(name.substr(0, 64)) + "\"");
    problem.emplace_back(name, *std::move(value));
  }
  std::ranges::sort(problem, {}, &Problem::value_type::first);
  TW_RETURN_IF_ERROR(CheckProblem(problem));
  return problem;
}

std::string ProblemJson(const Problem& problem) {
  Json object = Json::object();
  for (const auto& [name, value] : problem) object[name] = ToJson(value);
  return DumpJson(object);
}

std::string ProblemText(const Problem& problem) {
  std::string text;
  for (const auto& [name, value] : problem) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, ToText(value));
  }
  return text;
}

double ProblemDistance(const Problem& a, const Problem& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double distance = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first) return HUGE_VAL;
    if (SameValue(a[i].second, b[i].second)) continue;
    const bool numbers = a[i].second.index() < 2 && b[i].second.index() < 2;
    const double one = numbers ? *NumberOf(a[i].second) : 0;
    const double other = numbers ? *NumberOf(b[i].second) : 0;
    if (!(one > 0 && other > 0)) return HUGE_VAL;
    distance += std::abs(std::log2(one / other));
  }
  return distance;
}

}  // namespace tilewright
