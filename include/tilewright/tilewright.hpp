// Tasks of tilewright.h for C++17: owners of handles, and errors as values. Header-only; does not
// throw exceptions of its own (docs/howto-open.md#a-kernel-of-your-own-program).

#ifndef TILEWRIGHT_TILEWRIGHT_HPP_
#define TILEWRIGHT_TILEWRIGHT_HPP_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tilewright.h"

namespace tilewright::api {

/// Outcome of a call.
struct Status {
  tw_code code = TW_OK;
  std::string message;
  bool ok() const { return code == TW_OK; }
};

template <auto Free>
struct Release {
  template <typename Handle>
  void operator()(Handle* handle) const {
    Free(handle);
  }
};
using CatalogPtr = std::unique_ptr<tw_catalog, Release<tw_catalog_free>>;
using AnswerPtr = std::unique_ptr<tw_answer, Release<tw_answer_free>>;

/// Samples of one metric; unit: "" for the metric's own.
struct Value {
  std::string name;
  std::vector<double> samples;
  std::string unit = {};
};

/// Measurement of a config.
struct Measurement {
  std::vector<Value> values;
  std::int32_t verdict = TW_VERDICT_OK;
  std::string reason = {};
  double max_abs_error = 0;
};

/// Stored result.
struct Trial {
  std::int32_t verdict = TW_VERDICT_OK;
  std::string id, config, environment, reason, metric, others;
  double value = 0, noise = 0, max_abs_error = 0, measured_unix_seconds = 0;
  std::vector<double> samples;
};

/// Share of a config on one device.
struct Share {
  std::int32_t evidence = TW_EVIDENCE_NONE;
  std::string device, from;
  double share = 0, low = 0, high = 0;
  std::int64_t common = 0;
};

/// Config for several devices (tw_query_devices).
class DeviceChoice {
 public:
  explicit DeviceChoice(tw_device_choice* handle) : handle_(handle) {}
  /// JSON object of the values; empty if no config was measured on all devices.
  std::string config() const { return tw_device_choice_config(handle_.get()); }
  double score() const { return tw_device_choice_score(handle_.get()); }
  std::size_t devices() const { return tw_device_choice_count(handle_.get()); }
  /// No value if there is no such device, or no config.
  std::optional<Share> ShareOn(std::size_t device) const {
    tw_share view = TW_SHARE_INIT;
    const tw_code code = tw_device_choice_share(handle_.get(), device, &view, nullptr);
    return code == TW_OK ? Copy(view) : std::nullopt;
  }
  /// Share on one device of the best config of another one.
  std::optional<Share> Transfer(std::size_t of, std::size_t on) const {
    tw_share view = TW_SHARE_INIT;
    const tw_code code = tw_device_choice_transfer(handle_.get(), of, on, &view, nullptr);
    return code == TW_OK ? Copy(view) : std::nullopt;
  }
  const tw_device_choice* get() const { return handle_.get(); }

 private:
  static std::optional<Share> Copy(const tw_share& view) {
    return Share{view.evidence, view.device, view.from != nullptr ? view.from : "",
                 view.share,    view.low,    view.high,
                 view.common};
  }
  std::unique_ptr<tw_device_choice, Release<tw_device_choice_free>> handle_;
};

/// Proposed config.
class Proposal {
 public:
  explicit Proposal(tw_proposal* handle) : handle_(handle) {}
  std::int64_t number() const { return tw_proposal_number(handle_.get()); }
  std::string json() const { return tw_proposal_json(handle_.get()); }
  /// No value if there is no parameter of this name, or if it has another type.
  std::optional<std::int64_t> Integer(const std::string& name) const {
    std::int64_t value = 0;
    if (tw_proposal_integer(handle_.get(), name.c_str(), &value, nullptr) != TW_OK) return {};
    return value;
  }
  std::optional<double> Real(const std::string& name) const {
    double value = 0;
    if (tw_proposal_real(handle_.get(), name.c_str(), &value, nullptr) != TW_OK) return {};
    return value;
  }
  std::optional<std::string> Text(const std::string& name) const {
    const char* text = tw_proposal_text(handle_.get(), name.c_str());
    if (text == nullptr) return {};
    return std::string(text);
  }

 private:
  std::unique_ptr<tw_proposal, Release<tw_proposal_free>> handle_;
};

/// Description of a task, as tw_tuning_options; empty texts are null.
struct TuningOptions {
  std::string name, space;
  std::string problem = {}, metrics = {}, environment = {}, strategy = {};
  std::uint64_t seed = 1;
  bool warm_start = true;
  std::vector<std::string> warm_stores = {};
};

/// Tuning in a record store. Any number of threads may use it at once.
class Tuning {
 public:
  /// Returns no value after an error, which `status` gets.
  static std::optional<Tuning> Open(const std::string& store, const TuningOptions& options,
                                    Status& status) {
    const auto text = [](const std::string& one) { return one.empty() ? nullptr : one.c_str(); };
    std::vector<const char*> stores;
    for (const std::string& path : options.warm_stores) stores.push_back(path.c_str());
    tw_tuning_options given = TW_TUNING_OPTIONS_INIT;
    given.warm_start = options.warm_start ? 1 : 0;
    given.name = options.name.c_str();
    given.space = options.space.c_str();
    given.problem = text(options.problem);
    given.metrics = text(options.metrics);
    given.environment = text(options.environment);
    given.strategy = text(options.strategy);
    given.seed = options.seed;
    given.warm_stores = stores.data();
    given.warm_store_count = stores.size();
    tw_error error = TW_ERROR_INIT;
    tw_tuning* task = nullptr;
    status = StatusOf(tw_tuning_open(store.c_str(), &given, &task, &error), error);
    if (!status.ok()) return {};
    return Tuning(task);
  }

  std::string key() const { return tw_tuning_key(handle_.get()); }
  const tw_target* target() const { return tw_tuning_target(handle_.get()); }
  const tw_tuning* get() const { return handle_.get(); }

  /// Returns no value after an error, or, with the code TW_NOT_FOUND, if all configs were proposed.
  std::optional<Proposal> Ask(Status& status) {
    tw_error error = TW_ERROR_INIT;
    tw_proposal* config = nullptr;
    status = StatusOf(tw_tuning_ask(handle_.get(), &config, &error), error);
    if (!status.ok()) return {};
    return Proposal(config);
  }
  Status Tell(std::int64_t number, const Measurement& result) {
    return With(result, [&](const tw_measurement& given, tw_error* error) {
      return tw_tuning_tell(handle_.get(), number, &given, error);
    });
  }
  /// config: a JSON object.
  Status Record(const std::string& config, const Measurement& result) {
    return With(result, [&](const tw_measurement& given, tw_error* error) {
      return tw_tuning_record(handle_.get(), config.c_str(), &given, error);
    });
  }
  std::vector<Trial> Records(Status& status) {
    tw_error error = TW_ERROR_INIT;
    tw_records* list = nullptr;
    status = StatusOf(tw_tuning_records(handle_.get(), &list, &error), error);
    const std::unique_ptr<tw_records, Release<tw_records_free>> owner(list);
    std::vector<Trial> trials;
    for (std::size_t i = 0; i < tw_records_count(list); ++i) {
      tw_trial view = TW_TRIAL_INIT;
      if (tw_records_at(list, i, &view, nullptr) != TW_OK) continue;
      trials.push_back({view.verdict, view.id, view.config, view.environment, view.reason,
                        view.metric, view.others, view.value, view.noise, view.max_abs_error,
                        view.measured_unix_seconds,
                        std::vector<double>(view.samples, view.samples + view.sample_count)});
    }
    return trials;
  }
  /// Returns null after an error. options: null for the defaults.
  AnswerPtr Query(tw_catalog* catalog, Status& status,
                  const tw_query_options* options = nullptr) const {
    tw_error error = TW_ERROR_INIT;
    tw_answer* answer = nullptr;
    status = StatusOf(tw_query_tuning(catalog, handle_.get(), options, &answer, &error), error);
    return AnswerPtr(answer);
  }
  /// Chooses one config of the task for several devices. by: TW_BY_. Returns no value after an
  /// error.
  std::optional<DeviceChoice> QueryDevices(tw_catalog* catalog,
                                           const std::vector<std::string>& devices, std::int32_t by,
                                           Status& status) const {
    std::vector<const char*> names;
    for (const std::string& name : devices) names.push_back(name.c_str());
    tw_error error = TW_ERROR_INIT;
    tw_device_choice* choice = nullptr;
    status = StatusOf(tw_query_devices(catalog, target(), key().c_str(), names.data(), names.size(),
                                       by, &choice, &error),
                      error);
    if (!status.ok()) return {};
    return DeviceChoice(choice);
  }

 private:
  explicit Tuning(tw_tuning* handle) : handle_(handle) {}
  static Status StatusOf(tw_code code, const tw_error& error) {
    return {code, code == TW_OK ? std::string() : std::string(error.message)};
  }
  template <typename Call>
  static Status With(const Measurement& result, Call call) {
    std::vector<tw_value> values;
    for (const Value& value : result.values) {
      values.push_back(
          {value.name.c_str(), value.unit.c_str(), value.samples.data(), value.samples.size()});
    }
    tw_measurement given = TW_MEASUREMENT_INIT;
    given.verdict = result.verdict;
    given.reason = result.reason.c_str();
    given.values = values.data();
    given.value_count = values.size();
    given.max_abs_error = result.max_abs_error;
    tw_error error = TW_ERROR_INIT;
    const tw_code code = call(given, &error);
    return StatusOf(code, error);
  }
  std::unique_ptr<tw_tuning, Release<tw_tuning_free>> handle_;
};

}  // namespace tilewright::api

#endif  // TILEWRIGHT_TILEWRIGHT_HPP_
