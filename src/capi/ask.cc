#include "src/capi/ask.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "src/space/version.h"
#include "src/templates/registry.h"

namespace tilewright::capi {
namespace {

static_assert(static_cast<int>(KnobKind::kSplit) == TW_KNOB_SPLIT);
static_assert(static_cast<int>(KnobKind::kReorder) == TW_KNOB_REORDER);
static_assert(static_cast<int>(KnobKind::kAnnotate) == TW_KNOB_ANNOTATE);
static_assert(static_cast<int>(KnobKind::kOther) == TW_KNOB_OTHER);

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<std::string> Without(std::vector<std::string> from, std::vector<std::string> what) {
  std::ranges::sort(from);
  std::ranges::sort(what);
  std::vector<std::string> left;
  std::ranges::set_difference(from, what, std::back_inserter(left));
  return left;
}

void CompareDevices(const DeviceFingerprint& measured, const DeviceFingerprint& here,
                    std::vector<std::string>& differences) {
  if (measured == here) return;
  if (measured.model != here.model) {
    differences.push_back("device: measured on '" + measured.model + "', asked for '" + here.model +
                          "'");
  }
  if (const auto more = Without(measured.isa, here.isa); !more.empty()) {
    differences.push_back("instruction sets only of the measured device: " + Joined(more));
  }
  if (const auto more = Without(here.isa, measured.isa); !more.empty()) {
    differences.push_back("instruction sets only of the device asked for: " + Joined(more));
  }
  if (measured.extra != here.extra) {
    differences.push_back("driver or configuration: measured with '" + measured.extra +
                          "', asked for '" + here.extra + "'");
  }
}

/// One line for everything that is not as in the record.
std::vector<std::string> Differences(const Question& question, const Trial& trial) {
  std::vector<std::string> differences;
  const Candidate& candidate = trial.candidate;
  if (candidate.task.workload != question.workload) {
    differences.push_back("workload: measured " + candidate.task.workload.Key());
  }
  if (candidate.task.target != question.target->target) {
    differences.push_back("target: measured for '" + candidate.task.target.ToString() +
                          "', asked for '" + question.target->text + "'");
  }
  CompareDevices(trial.device, question.target->device, differences);
  const TemplateEntry* entry = FindTemplate(candidate.template_key);
  if (entry == nullptr) {
    differences.push_back("template: " + candidate.template_key + " is not one of this library's");
  } else if (entry->version != candidate.template_version) {
    differences.push_back("template: measured with version " +
                          std::to_string(candidate.template_version) + ", this library has " +
                          std::to_string(entry->version));
  }
  if (trial.codegen_version != kCodegenVersion) {
    differences.push_back("code generator: measured with version " +
                          std::to_string(trial.codegen_version) + ", this library has " +
                          std::to_string(kCodegenVersion));
  }
  return differences;
}

/// Kind of a knob that no space tells of. A list of integers may be a split or a reorder; only a
/// permutation has a 0: no loop has no trips.
std::int32_t GuessKind(const KnobValue& value) {
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value.value)) {
    return std::ranges::find(*integers, 0) != integers->end() ? TW_KNOB_REORDER : TW_KNOB_SPLIT;
  }
  return std::holds_alternative<std::vector<std::string>>(value.value) ? TW_KNOB_ANNOTATE
                                                                       : TW_KNOB_OTHER;
}

Reply FromRecord(const Question& question, const Source& source, records::Answer answer,
                 KnobKinds& kinds) {
  Reply reply;
  reply.kind = answer.kind == records::AnswerKind::kHit ? TW_KIND_HIT : TW_KIND_NEAR;
  reply.workload = question.workload;
  reply.record = std::move(answer.record);
  reply.source = source.path();
  reply.expected_slowdown = answer.expected_slowdown;
  reply.explanation = std::move(answer.explanation);
  const Candidate& candidate = reply.record->trial.candidate;
  reply.template_key = candidate.template_key;
  reply.template_version = candidate.template_version;
  reply.config = candidate.config;
  reply.differences = Differences(question, reply.record->trial);
  reply.knob_kinds = kinds.Of(question, reply.template_key, reply.template_version, reply.config);
  return reply;
}

/// The default config of the first template that has one; a miss if none has.
Reply FromTemplates(const Question& question, KnobKinds& kinds) {
  Reply reply;
  reply.workload = question.workload;
  reply.expected_slowdown = std::nan("");
  for (const TemplateEntry* entry : TemplatesFor(question.workload, question.target->target)) {
    auto config = entry->default_config(question.workload, question.target->target);
    if (!config.ok()) continue;
    reply.kind = TW_KIND_DEFAULT;
    reply.template_key = entry->key;
    reply.template_version = entry->version;
    reply.config = *std::move(config);
    reply.explanation = "default config of " + reply.template_key + " v" +
                        std::to_string(entry->version) + ", which nobody measured";
    reply.knob_kinds = kinds.Of(question, reply.template_key, reply.template_version, reply.config);
    return reply;
  }
  reply.explanation = "no template serves it on target '" + question.target->text + "'";
  return reply;
}

}  // namespace

std::vector<std::int32_t> KnobKinds::Of(const Question& question, const std::string& template_key,
                                        int template_version, const Config& config) {
  const TemplateEntry* entry = FindTemplate(template_key);
  const bool has_space = entry != nullptr && entry->version == template_version;
  std::vector<std::int32_t> kinds;
  std::optional<ConfigSpace> space;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, value] : config.values) {
    const std::string key = template_key + "/" + name;
    auto known = has_space ? known_.find(key) : known_.end();
    if (has_space && known == known_.end() && !space.has_value()) {
      auto defined = entry->define_space(question.workload, question.target->target);
      space = defined.ok() ? *std::move(defined) : ConfigSpace();
      for (const Knob& knob : space->knobs()) {
        known_.emplace(template_key + "/" + knob.name(), static_cast<std::int32_t>(knob.kind()));
      }
      known = known_.find(key);
    }
    kinds.push_back(known != known_.end() ? known->second : GuessKind(value));
  }
  return kinds;
}

Result<Reply> Ask(std::span<Source* const> sources, const Question& question, KnobKinds& kinds) {
  std::optional<Reply> near;
  std::string passed_over;
  const auto pass_over = [&](const std::string& why) {
    passed_over += (passed_over.empty() ? "" : "; ") + why;
  };
  for (Source* source : sources) {
    auto answer =
        source->Query(question.workload, question.target->target, question.target->device);
    TW_RETURN_IF_ERROR(answer);
    const std::string where = sources.size() > 1 ? source->path() + ": " : "";
    if (!answer->record.has_value()) {
      pass_over(where + answer->explanation);
    } else if (answer->kind == records::AnswerKind::kHit) {
      if ((question.accept & TW_ACCEPT_HIT) != 0) {
        return FromRecord(question, *source, *std::move(answer), kinds);
      }
      pass_over(where + "not accepted: " + answer->explanation);
    } else if ((question.accept & TW_ACCEPT_NEAR) == 0) {
      pass_over(where + "not accepted: " + answer->explanation);
    } else if (!near.has_value()) {
      near = FromRecord(question, *source, *std::move(answer), kinds);
    }
  }
  if (near.has_value()) return *std::move(near);
  if (sources.empty()) pass_over("miss: the catalog has no stores or packages");
  if ((question.accept & TW_ACCEPT_DEFAULT) != 0) {
    Reply reply = FromTemplates(question, kinds);
    reply.explanation = reply.kind == TW_KIND_DEFAULT ? reply.explanation + "; " + passed_over
                                                      : passed_over + "; " + reply.explanation;
    return reply;
  }
  Reply miss;
  miss.workload = question.workload;
  miss.expected_slowdown = std::nan("");
  miss.explanation = std::move(passed_over);
  return miss;
}

}  // namespace tilewright::capi
