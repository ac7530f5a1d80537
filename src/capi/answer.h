#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "include/tilewright/tilewright.h"
#include "src/capi/ask.h"

/// An answer with every text that the C functions hand out. Nothing but the number of owners
/// changes once it is made: the cache and any number of callers own it together.
struct tw_answer {
  struct Knob {
    std::string text;
    std::int64_t scalar = 0;
    std::vector<const char*> strings;
    tw_knob view;
  };
  mutable std::atomic<std::int64_t> owners{1};
  tilewright::capi::Reply reply;
  double cost_seconds = 0;
  std::string workload, target, config;
  std::string record_workload, record_target, record_device, record_epilogue;
  std::vector<Knob> knobs;  ///< point into reply.config and into themselves
};

namespace tilewright::capi {

struct ReleaseAnswer {
  void operator()(const tw_answer* answer) const;
};
/// One of the owners of an answer.
using AnswerPtr = std::unique_ptr<tw_answer, ReleaseAnswer>;

/// `asked`: the target of the question.
AnswerPtr MakeAnswer(Reply reply, const tw_target& asked);
/// Another owner of the same answer.
AnswerPtr Share(const AnswerPtr& answer);

}  // namespace tilewright::capi
