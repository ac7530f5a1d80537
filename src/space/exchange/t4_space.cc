#include "src/space/exchange/t4_space.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tilewright {
namespace {

/// Returns the parameters of results, with the values that occur in ascending order.
Result<std::vector<Parameter>> T4Parameters(const T4File& file) {
  if (file.results.empty()) return InvalidArgument("no results");
  std::vector<std::set<ParameterValue>> values(file.results[0].configuration.size());
  for (std::size_t r = 0; r < file.results.size(); ++r) {
    const auto& own = file.results[r].configuration;
    const auto& first = file.results[0].configuration;
    const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (!std::ranges::equal(own, first, same_name)) {
      return InvalidArgument("result " + std::to_string(r + 1) +
                             ": expected the parameters of the first result");
    }
    for (std::size_t p = 0; p < own.size(); ++p) values[p].insert(own[p].second);
  }
  std::vector<Parameter> parameters;
  for (std::size_t p = 0; p < values.size(); ++p) {
    Parameter parameter;
    parameter.name = file.results[0].configuration[p].first;
    parameter.values.assign(values[p].begin(), values[p].end());
    const auto is_float = [](const ParameterValue& v) { return std::holds_alternative<double>(v); };
    parameter.type = std::ranges::any_of(parameter.values, is_float)
                         ? ParameterType::kFloat
                         : static_cast<ParameterType>(parameter.values.back().index());
    std::ranges::sort(parameter.values, [](const ParameterValue& a, const ParameterValue& b) {
      const auto one = NumberOf(a), other = NumberOf(b);
      return one && other ? *one < *other : a < b;
    });
    parameter.ordered = parameter.type != ParameterType::kText;
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

}  // namespace

Result<OpenSpace> SpaceOfT4(std::string name, const T4File& file) {
  TW_ASSIGN_OR_RETURN(std::vector<Parameter> parameters, T4Parameters(file));
  return OpenSpace::Create(std::move(name), std::move(parameters), {});
}

Outcome T4OutcomeOf(const T4Result& result) {
  static const std::map<std::string, Outcome, std::less<>> kOutcomes = {
      {"compile", Outcome::kBuildFailed},
      {"timeout", Outcome::kRunTimeout},
      {"correctness", Outcome::kWrongResult},
      {"constraints", Outcome::kInvalid},
  };
  if (result.ObjectiveValue()) return Outcome::kOk;
  const auto found = kOutcomes.find(result.invalidity.value_or(""));
  return found == kOutcomes.end() ? Outcome::kRunFailed : found->second;
}

}  // namespace tilewright
