// Which kernel an anchor gets: the best record, another one that saves changes of layout, a config
// of the cost model, the default; each has to build with the epilogue as it is.

#include "src/compiler/plan/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "src/schedule/lower/lower.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/limits.h"
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
  auto kernel = ApplyTemplate(entry, workload, epilogue, target, config);
  TW_RETURN_IF_ERROR(kernel);
  if (plain_weight &&
      (kernel->form.shift_data || kernel->form.multiply_dtype || kernel->form.winograd_tile > 0)) {
    return Unsupported("the weight is computed at run time");
  }
  auto program = Lower(kernel->schedule, "kernel", LowerLimitsFor(target));
  TW_RETURN_IF_ERROR(program);
  for (const LibraryCall* call : LibraryCallsOf(program->body)) {
    if (plain_weight && call->shape.constant_weight != 0) {
      return Unsupported("the weight is computed at run time, and the library keeps it");
    }
  }
  return Built{std::move(kernel->form), *std::move(program)};
}

/// The kernel that a candidate describes.
/// Errors: why it cannot be used here.
Result<Built> KernelOf(const Candidate& candidate, const Workload& workload,
                       const Epilogue& epilogue, bool plain_weight, const Target& target) {
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

/// What candidates that call a library are refused for, when they are asked about for an operator.
/// The arguments outlive the rule.
records::CallRule CallRuleFor(const Workload& workload, const Epilogue& epilogue, bool plain_weight,
                              const Target& target) {
  return [&workload, &epilogue, plain_weight, &target](const Candidate& candidate) {
    if (DeviceTraitsOf(target).grids) {
      return std::string("compiled models for a GPU call no libraries");
    }
    const auto built = KernelOf(candidate, workload, epilogue, plain_weight, target);
    return built.ok() ? std::string() : built.status().message();
  };
}

/// The best answer there is, down to a cost model's choice: the default config is ChooseDefault's,
/// which takes the first that builds with the epilogue.
Result<records::CatalogAnswer> Ask(const Workload& workload, const records::CallRule& refuses_call,
                                   const CompileOptions& options) {
  records::CatalogAnswer none;
  if (options.catalog == nullptr) {
    none.answer.explanation = "no record store was given";
    return none;
  }
  if (const auto refused = options.refused_imports.find(workload.Key());
      refused != options.refused_imports.end()) {
    none.answer.explanation = "the imported record's config was tried here: " + refused->second;
    return none;
  }
  records::Question question;
  question.workload = &workload;
  question.target = &options.target;
  question.device = &options.device;
  question.accept = records::DownTo(std::min(options.accept, records::AnswerLevel::kModel));
  question.autotvm = options.autotvm.has_value() ? &*options.autotvm : nullptr;
  question.refuses_call = refuses_call;
  return options.catalog->Query(question);
}

/// Whether a trial may be served where `best` is.
bool ServedLike(const Trial& trial, const Trial& best, const records::CallRule& refuses_call,
                const Target& target) {
  const Candidate& candidate = trial.candidate;
  const KernelLibrary* library = LibraryOfTemplate(candidate.template_key);
  if (library != nullptr &&
      (!RefusesLibrary(*library, target).empty() || !refuses_call(candidate).empty())) {
    return false;
  }
  const TemplateEntry* entry = FindTemplate(candidate.template_key);
  // What else is said of a device may be the version of a library that one of both calls.
  const DeviceFingerprint &device = trial.device, &best_device = best.device;
  const bool same_device = device.kind == best_device.kind && device.model == best_device.model &&
                           device.isa == best_device.isa;
  return trial.outcome == Outcome::kOk && trial.verified && trial.metric == best.metric &&
         same_device && trial.codegen_version == best.codegen_version && entry != nullptr &&
         entry->version == candidate.template_version;
}

/// Replaces a hit by another trial of the workload if time and changes of layout together are less.
Status WeighLayouts(const Workload& workload, const Epilogue& epilogue, const Target& target,
                    const records::CallRule& refuses_call, const LayoutSeconds& layout_seconds,
                    records::CatalogAnswer& asked) {
  records::Record& best = *asked.answer.record;
  const auto total = [&](const Trial& trial) -> Result<double> {
    const TemplateEntry* entry = FindTemplate(trial.candidate.template_key);
    if (entry == nullptr) return NotFound("no such template");
    auto kernel = ApplyTemplate(*entry, workload, epilogue, target, trial.candidate.config);
    TW_RETURN_IF_ERROR(kernel);
    return trial.value + layout_seconds(kernel->form);
  };
  auto least = total(best.trial);
  if (!least.ok() || *least <= best.trial.value) return Status();
  records::TrialFilter filter;
  filter.workload_key = workload.Key();
  filter.target = best.trial.candidate.task.target.ToString();
  filter.outcome = Outcome::kOk;
  auto trials = asked.store->Trials(filter);
  TW_RETURN_IF_ERROR(trials);
  std::erase_if(*trials, [&](const records::Record& record) {
    return record.trial.value >= *least ||
           !ServedLike(record.trial, best.trial, refuses_call, target);
  });
  std::ranges::stable_sort(*trials, {}, [](const records::Record& r) { return r.trial.value; });
  const records::Record first = best;
  constexpr std::size_t kMostTried = 64;  // each takes a schedule to be made
  for (std::size_t i = 0; i < std::min(trials->size(), kMostTried); ++i) {
    records::Record& record = (*trials)[i];
    auto seconds = total(record.trial);
    if (!seconds.ok() || *seconds >= *least) continue;
    least = seconds;
    best = record;
  }
  if (best.id != first.id) {
    asked.answer.explanation +=
        fmt::format("; another config, {:.1f} % slower, because it saves changes of layout",
                    100 * (best.trial.value / first.trial.value - 1));
  }
  return Status();
}

/// An anchor that no template for GPUs serves: right, and slow.
Result<Program> FixedKernel(const Workload& workload, const Epilogue& epilogue,
                            const Target& target) {
  auto compute = DefineAnchor(workload, epilogue);
  TW_RETURN_IF_ERROR(compute);
  auto schedule = FixedSchedule(*std::move(compute), target);
  TW_RETURN_IF_ERROR(schedule);
  return Lower(*schedule, "kernel");
}

Status ChooseDefault(const Workload& workload, const Epilogue& epilogue, bool plain_weight,
                     const CompileOptions& options, Choice& choice) {
  std::string reasons;
  for (const TemplateEntry* entry : TemplatesFor(workload, WithoutLibraries(options.target))) {
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
  if (DeviceTraitsOf(options.target).grids) {
    auto program = FixedKernel(workload, epilogue, options.target);
    TW_RETURN_IF_ERROR(program);
    choice.program = *std::move(program);
    choice.report.template_key = "fixed";
    return Status();
  }
  return Unsupported(workload.Key() + ": no template serves it" +
                     (reasons.empty() ? "" : " (" + reasons + ")"));
}

/// Whether the default config needs fewer changes of layout than a kernel of this form.
bool DefaultSavesLayouts(const AnchorForm& form, const Workload& workload, const Epilogue& epilogue,
                         bool plain_weight, const LayoutSeconds& layout_seconds,
                         const CompileOptions& options) {
  Choice choice;
  return ChooseDefault(workload, epilogue, plain_weight, options, choice).ok() &&
         layout_seconds(choice.form) < layout_seconds(form);
}

}  // namespace

Result<Choice> ChooseKernel(const Workload& workload, const Epilogue& epilogue, bool plain_weight,
                            const LayoutSeconds& layout_seconds, const CompileOptions& options) {
  const records::CallRule refuses_call =
      CallRuleFor(workload, epilogue, plain_weight, options.target);
  auto asked = Ask(workload, refuses_call, options);
  TW_RETURN_IF_ERROR(asked);
  if (asked->level == records::AnswerLevel::kHit && asked->answer.record.has_value()) {
    TW_RETURN_IF_ERROR(
        WeighLayouts(workload, epilogue, options.target, refuses_call, layout_seconds, *asked));
  }
  Choice choice;
  choice.report.workload_key = workload.Key();
  choice.report.answer = asked->level;
  const bool has_record = asked->answer.record.has_value() || asked->imported() != nullptr;
  choice.report.source = has_record ? asked->source : std::string();
  choice.report.expected_slowdown = asked->answer.expected_slowdown;
  choice.report.explanation = asked->answer.explanation;
  choice.report.passed_over = asked->answer.passed_over;
  if (const Candidate* candidate = asked->candidate()) {
    auto built = KernelOf(*candidate, workload, epilogue, plain_weight, options.target);
    // What a model promises is a guess, a change of layout is sure to take its time.
    if (built.ok() && asked->level == records::AnswerLevel::kModel &&
        DefaultSavesLayouts(built->form, workload, epilogue, plain_weight, layout_seconds,
                            options)) {
      built = Unsupported("it needs changes of layout that the default config does without");
    }
    if (built.ok()) {
      choice.form = std::move(built->form);
      choice.program = std::move(built->program);
      choice.report.template_key = candidate->template_key;
      choice.report.config = candidate->config.ToString();
      choice.report.tuned = has_record;
      choice.report.imported = asked->imported() != nullptr;
      return choice;
    }
    choice.report.answer = records::AnswerLevel::kMiss;
    choice.report.explanation += "; not usable here: " + built.status().message();
  }
  TW_RETURN_IF_ERROR(ChooseDefault(workload, epilogue, plain_weight, options, choice));
  choice.report.explanation += "; default config of " + choice.report.template_key;
  return choice;
}

}  // namespace tilewright
