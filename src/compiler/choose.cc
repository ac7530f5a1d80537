#include "src/compiler/choose.h"

#include <string>
#include <utility>

#include "src/schedule/lower.h"
#include "src/templates/registry.h"

namespace tilewright {
namespace {

struct Built {
  AnchorForm form;
  Program program;
};

/// Errors: why the config cannot be used here.
Result<Built> Build(const TemplateEntry& entry, const Config& config, const Workload& workload,
                    const Epilogue& epilogue, bool plain_weight, const Target& target) {
  auto kernel = entry.apply(workload, epilogue, target, config);
  TW_RETURN_IF_ERROR(kernel);
  if (plain_weight && (kernel->form.shift_data || kernel->form.multiply_dtype)) {
    return Unsupported("the weight is computed at run time");
  }
  auto program = Lower(kernel->schedule, "kernel");
  TW_RETURN_IF_ERROR(program);
  return Built{std::move(kernel->form), *std::move(program)};
}

/// The first hit of the stores, else the first near hit, else the last miss.
Result<records::Answer> Ask(const Workload& workload, const CompileOptions& options) {
  records::Answer best;
  best.explanation = "no record store was given";
  for (const records::Store* store : options.stores) {
    auto answer = store->Query(workload, options.target, options.device);
    if (!answer.ok()) return answer.status().WithContext(store->path());
    const bool better =
        best.kind == records::AnswerKind::kMiss || answer->kind == records::AnswerKind::kHit;
    if (better) best = *std::move(answer);
    if (best.kind == records::AnswerKind::kHit) break;
  }
  return best;
}

/// The kernel that a record describes.
/// Errors: why it cannot be used here.
Result<Built> KernelOf(const records::Record& record, const Workload& workload,
                       const Epilogue& epilogue, bool plain_weight, const Target& target) {
  const Candidate& candidate = record.trial.candidate;
  const TemplateEntry* entry = FindTemplate(candidate.template_key);
  if (entry == nullptr || entry->version != candidate.template_version) {
    return NotFound("template " + candidate.template_key + " version " +
                    std::to_string(candidate.template_version) + " is no longer there");
  }
  if (std::string reason = entry->refuses(workload, target); !reason.empty()) {
    return Unsupported(reason);
  }
  return Build(*entry, candidate.config, workload, epilogue, plain_weight, target);
}

Status ChooseDefault(const Workload& workload, const Epilogue& epilogue, bool plain_weight,
                     const CompileOptions& options, Choice& choice) {
  std::string reasons;
  for (const TemplateEntry* entry : TemplatesFor(workload, options.target)) {
    auto config = entry->default_config(workload, options.target);
    auto built = config.ok()
                     ? Build(*entry, *config, workload, epilogue, plain_weight, options.target)
                     : Result<Built>(config.status());
    if (built.ok()) {
      choice.form = std::move(built->form);
      choice.program = std::move(built->program);
      choice.report.template_key = entry->key;
      choice.report.config = config->ToString();
      return Status();
    }
    reasons +=
        (reasons.empty() ? "" : "; ") + std::string(entry->key) + ": " + built.status().message();
  }
  return Unsupported(workload.Key() + ": no template serves it" +
                     (reasons.empty() ? "" : " (" + reasons + ")"));
}

}  // namespace

Result<Choice> ChooseKernel(const Workload& workload, const Epilogue& epilogue, bool plain_weight,
                            const CompileOptions& options) {
  auto answer = Ask(workload, options);
  TW_RETURN_IF_ERROR(answer);
  Choice choice;
  choice.report.workload_key = workload.Key();
  choice.report.answer = answer->kind;
  choice.report.expected_slowdown = answer->expected_slowdown;
  choice.report.explanation = answer->explanation;
  if (answer->record) {
    auto built = KernelOf(*answer->record, workload, epilogue, plain_weight, options.target);
    if (built.ok()) {
      const Candidate& candidate = answer->record->trial.candidate;
      choice.form = std::move(built->form);
      choice.program = std::move(built->program);
      choice.report.template_key = candidate.template_key;
      choice.report.config = candidate.config.ToString();
      choice.report.tuned = true;
      return choice;
    }
    choice.report.answer = records::AnswerKind::kMiss;
    choice.report.explanation += "; not usable here: " + built.status().message();
  }
  TW_RETURN_IF_ERROR(ChooseDefault(workload, epilogue, plain_weight, options, choice));
  choice.report.explanation += "; default config of " + choice.report.template_key;
  return choice;
}

}  // namespace tilewright
