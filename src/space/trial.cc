#include "src/space/trial.h"

#include <array>

namespace tilewright {
namespace {

/// Position = the stored number of the outcome.
constexpr std::array<std::string_view, 8> kOutcomeNames = {
    "ok",         "invalid",     "build_failed", "build_timeout",
    "run_failed", "run_timeout", "wrong_result", "device_lost",
};

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  const auto position = static_cast<std::size_t>(outcome);
  TW_CHECK(position < kOutcomeNames.size());
  return kOutcomeNames[position];
}

Result<Outcome> ParseOutcome(std::string_view name) {
  for (std::size_t i = 0; i < kOutcomeNames.size(); ++i) {
    if (kOutcomeNames[i] == name) return static_cast<Outcome>(i);
  }
  return InvalidArgument("outcome '" + std::string(name) +
                         "': unknown, expected one of ok, "
                         "invalid, build_failed, build_timeout, run_failed, run_timeout, "
                         "wrong_result, device_lost");
}

std::optional<double> Trial::ValueOf(std::string_view of) const {
  if (of == metric) return value;
  const auto found = others.find(std::string(of));
  return found != others.end() ? std::optional<double>(found->second) : std::nullopt;
}

}  // namespace tilewright
