// C functions of tasks: configs that are asked for, and results that are told.

#include "src/capi/task.h"

#include <filesystem>
#include <system_error>
#include <variant>
#include <vector>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/strings.h"
#include "src/capi/boundary.h"
#include "src/capi/handles.h"
#include "src/templates/device.h"
#include "src/templates/open/environment.h"

/// Proposed config with its texts.
struct tw_proposal {
  std::int64_t number = -1;
  tilewright::Config config;
  std::string json;
  std::vector<std::pair<std::string, std::string>> texts;  // of the values, by name
};

namespace tilewright::capi {
namespace {

constexpr std::size_t kMaxWarmStores = 64;

/// Returns a text that may be null, then `standard`.
Result<std::string> OptionText(const char* text, const char* what, const char* standard) {
  return CallerText(text == nullptr ? standard : text, what);
}

Result<OpenTask> TaskOf(const tw_tuning_options& options) {
  OpenTaskParts parts;
  parts.input = OpenInput::kCaller;
  TW_ASSIGN_OR_RETURN(parts.name, CallerText(options.name, "name"));
  TW_ASSIGN_OR_RETURN(const std::string space, CallerText(options.space, "space"));
  auto parsed = OpenSpace::ParseT1(space);
  if (!parsed.ok()) return parsed.status().WithContext("space");
  parts.space = *std::move(parsed);
  TW_ASSIGN_OR_RETURN(const std::string problem, OptionText(options.problem, "problem", "{}"));
  auto fields = ParseProblem(problem);
  if (!fields.ok()) return fields.status().WithContext("problem");
  parts.problem = *std::move(fields);
  TW_ASSIGN_OR_RETURN(const std::string metrics, OptionText(options.metrics, "metrics", "seconds"));
  parts.metrics = Split(metrics, ',');
  return MakeOpenTask(std::move(parts));
}

Result<search::AskTellSettings> SettingsOf(const tw_tuning_options& options) {
  search::AskTellSettings settings;
  TW_ASSIGN_OR_RETURN(settings.strategy, OptionText(options.strategy, "strategy", "auto"));
  settings.seed = options.seed;
  settings.warm_start = options.warm_start != 0;
  if (options.warm_store_count > kMaxWarmStores) {
    return InvalidArgument("warm_store_count is " + std::to_string(options.warm_store_count) +
                           ", expected at most " + std::to_string(kMaxWarmStores));
  }
  if (options.warm_stores == nullptr && options.warm_store_count > 0) {
    return InvalidArgument("the warm_stores are null");
  }
  for (std::size_t i = 0; i < options.warm_store_count; ++i) {
    TW_ASSIGN_OR_RETURN(std::string path,
                        CallerText(options.warm_stores[i], "path of a warm store"));
    settings.warm_stores.push_back(std::move(path));
  }
  return settings;
}

Result<DeviceFingerprint> DeviceOf(const tw_tuning_options& options, const Target& target) {
  if (options.environment == nullptr) return DeviceFor(target);
  TW_ASSIGN_OR_RETURN(const std::string text, CallerText(options.environment, "environment"));
  auto device = ParseEnvironment(text);
  return device.ok() ? device
                     : Result<DeviceFingerprint>(device.status().WithContext("environment"));
}

Status OpenTaskIn(const char* store, const tw_tuning_options* options, tw_tuning** out) {
  if (out == nullptr) return InvalidArgument("the output pointer for the task is null");
  *out = nullptr;
  if (options == nullptr) return InvalidArgument("the options are null");
  if (options->struct_size < sizeof *options) {
    return InvalidArgument("options of struct_size " + std::to_string(options->struct_size) +
                           ", expected at least " + std::to_string(sizeof *options));
  }
  TW_ASSIGN_OR_RETURN(const std::string path, CallerText(store, "path of the store"));
  if (path.empty()) return InvalidArgument("the path of the store is empty");
  // It is opened again at the first result and after a fork, maybe in another working directory.
  std::error_code failed;
  const std::string whole = std::filesystem::absolute(path, failed).string();
  if (failed) return Unavailable(path + ": " + failed.message());
  TW_ASSIGN_OR_RETURN(OpenTask task, TaskOf(*options));
  TW_ASSIGN_OR_RETURN(auto settings, SettingsOf(*options));
  TW_ASSIGN_OR_RETURN(DeviceFingerprint device, DeviceOf(*options, task.target()));
  tw_target target = TargetOf(task.target(), device);
  TW_ASSIGN_OR_RETURN(auto opened, search::AskTell::Open(whole, std::move(task), std::move(device),
                                                         std::move(settings)));
  *out = Handles<tw_tuning>::Table().Add(
      std::make_shared<tw_tuning>(std::move(opened), std::move(target)));
  return {};
}

Status Ask(const tw_tuning* handle, tw_proposal** out) {
  if (out == nullptr) return InvalidArgument("the output pointer for the config is null");
  *out = nullptr;
  TW_ASSIGN_OR_RETURN(const auto task, Handles<tw_tuning>::Table().Get(handle, "task"));
  TW_ASSIGN_OR_RETURN(auto proposal, task->search->Ask());
  if (!proposal.has_value()) return NotFound("all configs of the space were proposed");
  auto config = std::make_shared<tw_proposal>();
  config->number = proposal->number;
  config->config = std::move(proposal->config);
  config->json = ConfigJson(task->search->task(), config->config);
  for (const auto& [name, value] : config->config.values) {
    config->texts.emplace_back(name, ValueText(value));
  }
  *out = Handles<tw_proposal>::Table().Add(std::move(config));
  return {};
}

/// Reads a number: Number is the type that is returned, of integers or reals.
template <typename Number>
Status ReadNumber(const tw_proposal* handle, const char* name, Number* out) {
  TW_ASSIGN_OR_RETURN(const auto config, Handles<tw_proposal>::Table().Get(handle, "config"));
  TW_ASSIGN_OR_RETURN(const std::string text, CallerText(name, "name"));
  if (out == nullptr) return InvalidArgument("the output pointer is null");
  const KnobValue* value = config->config.Find(text);
  if (value == nullptr) return NotFound("no parameter '" + Printable(text.substr(0, 64)) + "'");
  const auto* real = std::get_if<double>(&value->value);
  if (std::holds_alternative<std::int64_t>(value->value) ||
      std::holds_alternative<bool>(value->value)) {
    *out = static_cast<Number>(value->integer());
  } else if (std::is_floating_point_v<Number> && real != nullptr) {
    *out = static_cast<Number>(*real);
  } else {
    return InvalidArgument("parameter " + text + " is " + Printable(ValueText(*value)) +
                           ", which is no " +
                           (std::is_floating_point_v<Number> ? "number" : "integer"));
  }
  return {};
}

Status Tell(const tw_tuning* handle, std::int64_t number, const tw_measurement* result) {
  TW_ASSIGN_OR_RETURN(const auto task, Handles<tw_tuning>::Table().Get(handle, "task"));
  TW_ASSIGN_OR_RETURN(const std::string answer, AnswerOf(result));
  return task->search->Tell(number, answer);
}

Status Record(const tw_tuning* handle, const char* config, const tw_measurement* result) {
  TW_ASSIGN_OR_RETURN(const auto task, Handles<tw_tuning>::Table().Get(handle, "task"));
  TW_ASSIGN_OR_RETURN(const std::string text, CallerText(config, "config"));
  TW_ASSIGN_OR_RETURN(const std::string answer, AnswerOf(result));
  return task->search->Record(text, answer);
}

}  // namespace
}  // namespace tilewright::capi

extern "C" {

tw_code tw_tuning_open(const char* store, const tw_tuning_options* options, tw_tuning** out,
                       tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::OpenTaskIn(store, options, out);
  });
}

void tw_tuning_free(tw_tuning* task) noexcept {
  const tilewright::capi::CallScope call;
  tilewright::capi::Handles<tw_tuning>::Table().Remove(task);
}

const char* tw_tuning_key(const tw_tuning* task) noexcept {
  const tilewright::capi::CallScope call;
  const auto found = tilewright::capi::Handles<tw_tuning>::Table().Find(task);
  return found != nullptr ? found->key.c_str() : "";
}

const tw_target* tw_tuning_target(const tw_tuning* task) noexcept {
  const tilewright::capi::CallScope call;
  const auto found = tilewright::capi::Handles<tw_tuning>::Table().Find(task);
  return found != nullptr ? &found->target : nullptr;
}

tw_code tw_tuning_ask(tw_tuning* task, tw_proposal** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::Ask(task, out);
  });
}

void tw_proposal_free(tw_proposal* config) noexcept {
  const tilewright::capi::CallScope call;
  tilewright::capi::Handles<tw_proposal>::Table().Remove(config);
}

int64_t tw_proposal_number(const tw_proposal* config) noexcept {
  const tilewright::capi::CallScope call;
  const auto found = tilewright::capi::Handles<tw_proposal>::Table().Find(config);
  return found != nullptr ? found->number : -1;
}

const char* tw_proposal_json(const tw_proposal* config) noexcept {
  const tilewright::capi::CallScope call;
  const auto found = tilewright::capi::Handles<tw_proposal>::Table().Find(config);
  return found != nullptr ? found->json.c_str() : "";
}

const char* tw_proposal_text(const tw_proposal* config, const char* name) noexcept {
  const tilewright::capi::CallScope call;
  const auto found = tilewright::capi::Handles<tw_proposal>::Table().Find(config);
  if (found == nullptr || name == nullptr) return nullptr;
  for (const auto& [parameter, text] : found->texts) {
    if (parameter == name) return text.c_str();
  }
  return nullptr;
}

tw_code tw_proposal_integer(const tw_proposal* config, const char* name, int64_t* out,
                            tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::ReadNumber(config, name, out);
  });
}

tw_code tw_proposal_real(const tw_proposal* config, const char* name, double* out,
                         tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::ReadNumber(config, name, out);
  });
}

tw_code tw_tuning_tell(tw_tuning* task, int64_t number, const tw_measurement* result,
                       tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::Tell(task, number, result);
  });
}

tw_code tw_tuning_record(tw_tuning* task, const char* config, const tw_measurement* result,
                         tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::Record(task, config, result);
  });
}

}  // extern "C"
