// Texts and results of callers, checked.

#include <array>
#include <cmath>

#include "src/base/json.h"
#include "src/base/text/utf8.h"
#include "src/capi/boundary.h"
#include "src/capi/task.h"

namespace tilewright::capi {
namespace {

constexpr std::size_t kMaxValues = 64, kMaxSamples = 4096;
constexpr std::array kVerdicts = {"ok",      "compile",     "runtime",
                                  "timeout", "correctness", "constraints"};

bool IsVerdict(std::int32_t verdict) {
  return verdict >= 0 && static_cast<std::size_t>(verdict) < kVerdicts.size();
}

Status AddValue(const tw_value& value, Json& values) {
  TW_ASSIGN_OR_RETURN(const std::string name, CallerText(value.name, "name of a value"));
  const auto bad = [&](const std::string& why) {
    return InvalidArgument("\"" + name + "\": " + why);
  };
  if (values.contains(name)) return bad("two values of this name");
  if (value.samples == nullptr) return bad("the samples are null");
  if (value.sample_count == 0 || value.sample_count > kMaxSamples) {
    return bad(std::to_string(value.sample_count) + " samples, expected 1 to " +
               std::to_string(kMaxSamples));
  }
  Json samples = Json::array();
  for (std::size_t i = 0; i < value.sample_count; ++i) {
    const double sample = value.samples[i];
    if (!std::isfinite(sample) || sample <= 0) {
      return bad("sample " + std::to_string(i) + " is not a positive number");
    }
    samples.push_back(sample);
  }
  Json& json = values[name];
  json["samples"] = std::move(samples);
  if (value.unit == nullptr || *value.unit == '\0') return {};
  TW_ASSIGN_OR_RETURN(json["unit"], CallerText(value.unit, "unit of a value"));
  return {};
}

}  // namespace

Result<std::string> CallerText(const char* text, const char* what) {
  const auto bad = [&](const std::string& why) {
    return InvalidArgument(std::string("the ") + what + why);
  };
  if (text == nullptr) return bad(" is null");
  const std::string_view view(text, ::strnlen(text, kMaxCallerText));
  if (view.size() == kMaxCallerText) return bad(" has 1 MiB or more");
  for (std::size_t at = 0; at < view.size();) {
    const std::size_t length = FirstCharacter(view.substr(at)).length;
    if (length == 0) return bad(" is not UTF-8 at byte " + std::to_string(at));
    at += length;
  }
  return std::string(view);
}

Result<std::string> AnswerOf(const tw_measurement* result) {
  if (result == nullptr) return InvalidArgument("the result is null");
  if (result->struct_size < sizeof(tw_measurement)) {
    return InvalidArgument("a result of struct_size " + std::to_string(result->struct_size) +
                           ", expected at least " + std::to_string(sizeof(tw_measurement)));
  }
  if (!IsVerdict(result->verdict)) {
    return InvalidArgument("verdict " + std::to_string(result->verdict) +
                           ", expected one of TW_VERDICT_");
  }
  if (!std::isfinite(result->max_abs_error) || result->max_abs_error < 0) {
    return InvalidArgument("max_abs_error is not a number of 0 or more");
  }
  Json json = Json::object();
  json["error"] = result->max_abs_error;
  if (result->reason != nullptr) {
    TW_ASSIGN_OR_RETURN(json["reason"], CallerText(result->reason, "reason"));
  }
  if (result->verdict != TW_VERDICT_OK) {
    json["failed"] = tw_verdict_name(result->verdict);
    return DumpJson(json);
  }
  if (result->value_count > kMaxValues) {
    return InvalidArgument(std::to_string(result->value_count) + " values, expected at most " +
                           std::to_string(kMaxValues));
  }
  if (result->values == nullptr && result->value_count > 0) {
    return InvalidArgument("the values are null");
  }
  Json& values = json["values"] = Json::object();
  for (std::size_t i = 0; i < result->value_count; ++i) {
    TW_RETURN_IF_ERROR(AddValue(result->values[i], values));
  }
  return DumpJson(json);
}

}  // namespace tilewright::capi

extern "C" {

const char* tw_verdict_name(int32_t verdict) noexcept {
  using tilewright::capi::IsVerdict;
  using tilewright::capi::kVerdicts;
  return IsVerdict(verdict) ? kVerdicts[static_cast<std::size_t>(verdict)] : "unknown verdict";
}

}  // extern "C"
