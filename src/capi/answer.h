#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "include/tilewright/tilewright.h"
#include "records/lookup.h"
#include "src/capi/target.h"
#include "src/templates/open/open_task.h"

namespace tilewright::capi {

/// Parsed query.
struct ParsedQuery {
  std::optional<Workload> workload;               ///< none: no operator of Tilewright
  std::optional<records::AutotvmTask> task;       ///< query by tuple, for AutoTVM's rule
  std::optional<records::AutotvmLookup> autotvm;  ///< converted for that rule
  const OpenTask* open = nullptr;                 ///< query by task; outlives the query
};

}  // namespace tilewright::capi

/// Answer with every text that the C functions return. Immutable except for the number of owners:
/// the cache and any number of callers own it together.
struct tw_answer {
  struct Knob {
    std::string text;
    std::int64_t scalar = 0;
    std::vector<const char*> strings;
    tw_knob view;
  };
  mutable std::atomic<std::int64_t> owners{1};
  tilewright::records::CatalogAnswer reply;
  std::optional<tilewright::Workload> asked;  ///< none: see `workload`
  double cost_seconds = 0;
  std::string workload;  ///< its key; for a task without an operator of Tilewright its tuple
  std::string target, config;
  std::vector<std::string> differences;
  std::string record_workload, record_target, record_device, record_epilogue;
  std::vector<Knob> knobs;  ///< point into the reply and into themselves
  /// Registry with the config's template, to build the kernel; null if no catalog made the answer.
  std::shared_ptr<const tilewright::TemplateRegistry> templates;
};

namespace tilewright::capi {

struct ReleaseAnswer {
  void operator()(const tw_answer* answer) const;
};
/// Owner of an answer.
using AnswerPtr = std::unique_ptr<tw_answer, ReleaseAnswer>;

/// Creates an answer. kinds: of the knobs of the reply's candidate, if it has one.
AnswerPtr MakeAnswer(records::CatalogAnswer reply, ParsedQuery asked,
                     const std::vector<std::int32_t>& kinds, const tw_target& target);
/// Returns another owner of the same answer.
AnswerPtr Share(const AnswerPtr& answer);

}  // namespace tilewright::capi
