#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "include/tilewright/tilewright.h"
#include "records/store.h"
#include "src/capi/source.h"
#include "src/capi/target.h"

namespace tilewright::capi {

/// What a query wants to know.
struct Question {
  Workload workload;
  const tw_target* target = nullptr;
  std::uint32_t accept = TW_ACCEPT_MEASURED;
};

/// What the sources say.
struct Reply {
  tw_kind kind = TW_KIND_MISS;
  Workload workload;  ///< the one asked about
  std::string template_key;
  int template_version = 0;
  Config config;
  std::vector<std::int32_t> knob_kinds;  ///< TW_KNOB_ of each value of the config
  std::optional<records::Record> record;
  std::string source;            ///< path of the file that holds the record
  double expected_slowdown = 0;  ///< NaN where nothing is known
  std::string explanation;
  std::vector<std::string> differences;
};

/// Kinds of the knobs of templates. They are the same in every space of a template, and making a
/// space takes as long as a query. Thread-safe.
class KnobKinds {
 public:
  /// TW_KNOB_ of each value of a config of the template (that version) for the question's workload.
  /// For templates of others it is guessed from the values.
  std::vector<std::int32_t> Of(const Question& question, const std::string& template_key,
                               int template_version, const Config& config);

 private:
  std::mutex mutex_;
  std::map<std::string, std::int32_t> known_;  // by template and name
};

/// Goes down the precedence as far as the question accepts: hits of the sources in order, then near
/// hits in order, then the default config.
/// Errors: those of the sources.
Result<Reply> Ask(std::span<Source* const> sources, const Question& question, KnobKinds& kinds);

}  // namespace tilewright::capi
