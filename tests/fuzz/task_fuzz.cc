// Arguments of the C functions of tasks. Each line of the input is a word and a text: a member of
// tw_tuning_options (name, space, problem, metrics, environment, strategy, warm), which becomes
// null without a text; or a call: open, ask, query, devices, records, free, tell and config (of
// tw_tuning_record). The member key is that of devices, in place of the task's.
//   devices BY NAME...
//   tell NUMBER VERDICT ERROR NAME UNIT SAMPLE...      config VERDICT ERROR NAME UNIT SAMPLE...
//   JSON
// After all, the store has exactly the results that were accepted.

#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "include/tilewright/tilewright.h"
#include "src/base/files/file.h"
#include "src/base/status.h"
#include "src/base/strings.h"

namespace {

using tilewright::Split;

void Check(tw_code code, const tw_error& error) {
  TW_CHECK((code == TW_OK) == (error.message[0] == '\0'), error.message);
  TW_CHECK(code != TW_INTERNAL && code != TW_CORRUPT && code != TW_UNAVAILABLE, error.message);
}

/// Result from words: VERDICT ERROR NAME UNIT SAMPLE...
struct ResultWords {
  std::string name, unit;
  std::vector<double> samples;
  tw_value value = {nullptr, nullptr, nullptr, 0};
  tw_measurement result = TW_MEASUREMENT_INIT;

  ResultWords(const std::vector<std::string>& words, std::size_t first) {
    const auto word = [&](std::size_t i) {
      return first + i < words.size() ? words[first + i] : std::string();
    };
    result.verdict = static_cast<std::int32_t>(std::strtol(word(0).c_str(), nullptr, 10));
    result.max_abs_error = std::strtod(word(1).c_str(), nullptr);
    name = word(2);
    unit = word(3);
    for (std::size_t i = first + 4; i < words.size(); ++i) {
      samples.push_back(std::strtod(words[i].c_str(), nullptr));
    }
    value = {name == "null" ? nullptr : name.c_str(), unit == "null" ? nullptr : unit.c_str(),
             samples.data(), samples.size()};
    if (unit == "many") value.sample_count = SIZE_MAX;
    result.reason = unit.c_str();
    result.values = name == "none" ? nullptr : &value;
    result.value_count = name == "many" ? SIZE_MAX : 1;
  }
};

class Script {
 public:
  Script() {
    auto folder = tilewright::ScopedTempDir::Create("tilewright-task-fuzz");
    TW_CHECK(folder.ok());
    folder_.emplace(*std::move(folder));
    store_ = folder_->path() + "/records.db";
  }
  ~Script() { tw_tuning_free(task_); }

  void Run(const std::string& word, const std::string& text) {
    const std::vector<std::string> words = Split(text, ' ');
    tw_error error = TW_ERROR_INIT;
    if (word == "open") {
      Open();
    } else if (word == "free") {
      tw_tuning_free(task_);  // later calls have a freed handle
      freed_ = true;
    } else if (word == "ask") {
      Ask();
    } else if (word == "query") {
      Query();
    } else if (word == "devices") {
      QueryDevices(words);
    } else if (word == "records") {
      CountRecords();
    } else if (word == "tell") {
      const ResultWords result(words, 1);
      const auto number = static_cast<std::int64_t>(std::strtoll(words[0].c_str(), nullptr, 10));
      const tw_code code = tw_tuning_tell(task_, number, &result.result, &error);
      Check(code, error);
      accepted_ += code == TW_OK ? 1 : 0;
    } else if (word == "config") {
      const ResultWords result(words, 0);
      const std::size_t json = text.find('{');
      const std::string config = json == std::string::npos ? text : text.substr(json);
      const tw_code code = tw_tuning_record(task_, config.c_str(), &result.result, &error);
      Check(code, error);
      accepted_ += code == TW_OK ? 1 : 0;
    } else {
      texts_[word] = text;
    }
  }

  /// Checks the number of records.
  void CountRecords() {
    if (task_ == nullptr || freed_) return;
    tw_error error = TW_ERROR_INIT;
    tw_records* records = nullptr;
    Check(tw_tuning_records(task_, &records, &error), error);
    TW_CHECK(tw_records_count(records) == accepted_);
    for (std::size_t i = 0; i <= accepted_; ++i) {
      tw_trial trial = TW_TRIAL_INIT;
      const tw_code code = tw_records_at(records, i, &trial, &error);
      TW_CHECK((code == TW_OK) == (i < accepted_));
      if (code == TW_OK) TW_CHECK((trial.verdict == TW_VERDICT_OK) == (trial.value > 0));
    }
    tw_records_free(records);
  }

 private:
  const char* TextOf(const char* member) const {
    const auto found = texts_.find(member);
    return found == texts_.end() ? nullptr : found->second.c_str();
  }
  void Open() {
    if (task_ != nullptr) return;
    tw_tuning_options options = TW_TUNING_OPTIONS_INIT;
    options.name = TextOf("name");
    options.space = TextOf("space");
    options.problem = TextOf("problem");
    options.metrics = TextOf("metrics");
    options.environment = TextOf("environment");
    options.strategy = TextOf("strategy");
    const char* warm = TextOf("warm");
    options.warm_stores = &warm;
    options.warm_store_count = warm == nullptr ? 0 : 1;
    tw_error error = TW_ERROR_INIT;
    const tw_code code = tw_tuning_open(store_.c_str(), &options, &task_, &error);
    Check(code, error);
    TW_CHECK((code == TW_OK) == (task_ != nullptr));
  }
  void Ask() {
    tw_error error = TW_ERROR_INIT;
    tw_proposal* config = nullptr;
    const tw_code code = tw_tuning_ask(task_, &config, &error);
    Check(code, error);
    if (code != TW_OK) return;
    TW_CHECK(tw_proposal_number(config) >= 0 && *tw_proposal_json(config) == '{');
    double number = 0;
    for (const char* name : {"a", "b", "\xff", ""})
      tw_proposal_real(config, name, &number, nullptr);
    tw_proposal_free(config);
    tw_proposal_free(config);
  }
  void Query() {
    tw_error error = TW_ERROR_INIT;
    tw_catalog* catalog = nullptr;
    TW_CHECK(tw_catalog_create(&catalog, nullptr) == TW_OK);
    if (task_ != nullptr) tw_catalog_add_store(catalog, store_.c_str(), nullptr);
    tw_answer* answer = nullptr;
    const tw_code code = tw_query_tuning(catalog, task_, nullptr, &answer, &error);
    Check(code, error);
    TW_CHECK((code == TW_OK) == (answer != nullptr));
    tw_answer_free(answer);
    tw_catalog_free(catalog);
  }

  void QueryDevices(const std::vector<std::string>& words) {
    tw_error error = TW_ERROR_INIT;
    tw_catalog* catalog = nullptr;
    TW_CHECK(tw_catalog_create(&catalog, nullptr) == TW_OK);
    if (task_ != nullptr) tw_catalog_add_store(catalog, store_.c_str(), nullptr);
    std::vector<const char*> names;
    for (std::size_t i = 1; i < words.size(); ++i) {
      names.push_back(words[i] == "null" ? nullptr : words[i].c_str());
    }
    const auto by = static_cast<std::int32_t>(std::strtol(words[0].c_str(), nullptr, 10));
    const char* key = TextOf("key") != nullptr ? TextOf("key") : tw_tuning_key(task_);
    tw_device_choice* choice = nullptr;
    const tw_code code = tw_query_devices(catalog, tw_tuning_target(task_), key, names.data(),
                                          names.size(), by, &choice, &error);
    Check(code, error);
    TW_CHECK((code == TW_OK) == (choice != nullptr));
    const std::size_t devices = tw_device_choice_count(choice);
    for (std::size_t i = 0; i <= devices; ++i) {
      tw_share share = TW_SHARE_INIT;
      const bool has = *tw_device_choice_config(choice) != '\0' && i < devices;
      TW_CHECK((tw_device_choice_share(choice, i, &share, nullptr) == TW_OK) == has);
      tw_device_choice_transfer(choice, 0, i, &share, nullptr);
      TW_CHECK(share.share >= 0 && share.share <= 1);
    }
    std::size_t needed = 0;
    TW_CHECK((tw_device_choice_json(choice, nullptr, 0, &needed, nullptr) == TW_OK) ==
             (code == TW_OK));
    tw_device_choice_free(choice);
    tw_device_choice_free(choice);
    tw_catalog_free(catalog);
  }

  std::optional<tilewright::ScopedTempDir> folder_;
  std::string store_;
  std::map<std::string, std::string> texts_;
  tw_tuning* task_ = nullptr;
  bool freed_ = false;
  std::size_t accepted_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 20'000) return 0;
  Script script;
  int calls = 0;
  for (const std::string& line :
       Split(std::string(reinterpret_cast<const char*>(data), size), '\n')) {
    const std::size_t space = line.find(' ');
    script.Run(line.substr(0, space), space == std::string::npos ? "" : line.substr(space + 1));
    if (++calls == 60) break;
  }
  script.CountRecords();
  return 0;
}
