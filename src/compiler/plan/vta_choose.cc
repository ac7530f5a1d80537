// Which config and stream a VTA kernel gets, by our own rule or AutoTVM's; where the stream of a
// record cannot be built with the epilogue, the template's default.

#include "src/compiler/plan/vta_choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "records/autotvm/tuple.h"
#include "src/templates/registry.h"
#include "src/templates/vta/alu_blocks.h"
#include "src/templates/vta/launch.h"

namespace tilewright {
namespace {

/// A config and where it comes from.
struct Asked {
  std::optional<Candidate> candidate;
  std::string source, explanation;
};

bool IsOfDesign(const records::ImportedRecord& record, const vta::Design& design) {
  const auto target = records::AutotvmTarget::Parse(record.target);
  if (!target.ok()) return false;
  const auto other = vta::Design::FromModel(target->model());
  return other.ok() && other->Name() == design.Name();
}

/// The record AutoTVM would take. The simulator has no records of its own there: it takes those of
/// a board by the key they share, which may be of another design. So boards of the same design are
/// asked for by name.
Result<Asked> AskImported(records::Question question, const vta::Design& design,
                          const VtaOptions& options) {
  Asked asked;
  question.accept = records::DownTo(records::AnswerLevel::kHit);
  std::vector<std::string> boards = {design.target()};
  for (const char* board : {"pynq", "ultra96", "zcu104", "de10nano", "intelfocl", "sim", "tsim"}) {
    if (board != design.target()) boards.emplace_back(board);
  }
  for (const std::string& board : boards) {
    auto target = records::AutotvmTarget::Parse("vta -model=" + board + "_" + design.Name());
    TW_RETURN_IF_ERROR(target);
    const records::AutotvmQuestion autotvm = {*std::move(target), {}, options.autotvm->package};
    question.autotvm = &autotvm;
    auto answer = options.catalog->Query(question);
    TW_RETURN_IF_ERROR(answer);
    const records::ImportedRecord* record = answer->imported();
    if (asked.explanation.empty()) asked.explanation = answer->answer.explanation;
    if (record == nullptr || !IsOfDesign(*record, design)) continue;
    asked.explanation = answer->answer.explanation;
    asked.source = fmt::format("{}:{}", record->file, record->line);
    // Version 0: no code can be made of it, as the explanation says.
    if (answer->chosen->template_version > 0) asked.candidate = *answer->chosen;
    return asked;
  }
  asked.explanation += "; no record of a board with the design " + design.Name();
  return asked;
}

Result<Asked> Ask(const Workload& workload, const VtaTarget& vta, const VtaOptions& options) {
  Asked asked;
  if (options.catalog == nullptr) {
    asked.explanation = "no record store was given";
    return asked;
  }
  const DeviceFingerprint device = VtaDevice(vta);
  records::Question question;
  question.workload = &workload;
  question.target = &options.target;
  question.device = &device;
  if (options.autotvm.has_value()) return AskImported(question, vta.design, options);
  question.accept = records::DownTo(std::min(options.accept, records::AnswerLevel::kModel));
  auto answer = options.catalog->Query(question);
  TW_RETURN_IF_ERROR(answer);
  if (const Candidate* candidate = answer->candidate()) asked.candidate = *candidate;
  if (answer->answer.record.has_value()) asked.source = answer->source;
  asked.explanation = answer->answer.explanation;
  return asked;
}

/// Errors: why the config cannot be used.
Status Build(const TemplateEntry& entry, const Config& config, const Workload& workload,
             const Target& target, VtaKernel& kernel) {
  auto stream = BuildVtaStream(entry, workload, kernel.epilogue, target, config);
  TW_RETURN_IF_ERROR(stream);
  kernel.stream = *std::move(stream);
  kernel.template_key = entry.key;
  kernel.config = config.ToString();
  return Status();
}

Status BuildAsked(const Asked& asked, const Workload& workload, const Target& target,
                  VtaKernel& kernel) {
  const Candidate& candidate = *asked.candidate;
  const TemplateEntry* entry = FindTemplate(candidate.template_key);
  if (entry == nullptr || entry->version != candidate.template_version) {
    return NotFound(fmt::format("template {} version {} is no longer there", candidate.template_key,
                                candidate.template_version));
  }
  return Build(*entry, candidate.config, workload, target, kernel);
}

/// Of the configs that differ from the asked one in one knob, the best that can be built: a config
/// that was tuned with another epilogue may take a little more room than there is.
/// Errors: kUnsupported if there is none.
Status BuildNeighbour(const Candidate& candidate, const Workload& workload, const VtaTarget& vta,
                      const Target& target, VtaKernel& kernel) {
  const TemplateEntry* entry = FindTemplate(candidate.template_key);
  if (entry == nullptr) return Unsupported("no template " + candidate.template_key);
  auto space = entry->define_space(workload, target);
  TW_RETURN_IF_ERROR(space);
  auto located = space->Locate(candidate.config);
  TW_RETURN_IF_ERROR(located);
  const std::vector<std::int64_t> digits = space->Digits(located->index);
  std::optional<double> best;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    for (std::int64_t value = 0; value < space->knobs()[k].size(); ++value) {
      if (value == digits[k]) continue;
      std::vector<std::int64_t> changed = digits;
      changed[k] = value;
      VtaKernel tried = kernel;
      const Config config = space->At(space->IndexOf(changed));
      if (!Build(*entry, config, workload, target, tried).ok()) continue;
      const auto cost = CostOfStream(vta, tried.stream);
      if (!cost.ok() || (best.has_value() && *cost >= *best)) continue;
      best = *cost;
      kernel = std::move(tried);
    }
  }
  return best.has_value() ? Status() : Unsupported("nor any config next to it");
}

/// The config of a template without a record: AutoTVM's fallback for operators without products is
/// the first one, a tile at a time.
Result<Config> DefaultOf(const TemplateEntry& entry, const Workload& workload,
                         const VtaOptions& options) {
  if (!options.autotvm.has_value() || IsAnchor(workload.op)) {
    return entry.default_config(workload, options.target);
  }
  auto space = entry.define_space(workload, options.target);
  TW_RETURN_IF_ERROR(space);
  return space->At(0);
}

Status BuildDefault(const Workload& workload, const VtaOptions& options, VtaKernel& kernel) {
  std::string reasons;
  for (const TemplateEntry* entry : TemplatesFor(workload, options.target)) {
    auto config = DefaultOf(*entry, workload, options);
    const Status built =
        config.ok() ? Build(*entry, *config, workload, options.target, kernel) : config.status();
    if (built.ok()) return built;
    reasons += (reasons.empty() ? "" : "; ") + std::string(entry->key) + ": " + built.message();
  }
  return Unsupported(reasons);
}

/// Errors: kUnsupported with the reason why the accelerator does not compute it.
Status CheckServed(const Workload& workload, const VtaOptions& options) {
  if (TemplatesFor(workload, options.target).empty()) {
    return Unsupported(VtaRefusalOf(workload, options.target));
  }
  const bool alone =
      !IsAnchor(workload.op) && records::AutotvmName(workload, options.target).empty();
  if (alone && options.autotvm.has_value()) {
    return Unsupported("rule autotvm: there is no such template of a VTA");
  }
  return Status();
}

}  // namespace

Result<VtaKernel> ChooseVtaKernel(const Workload& workload, const Epilogue& epilogue,
                                  const VtaTarget& vta, const VtaOptions& options) {
  TW_RETURN_IF_ERROR(CheckServed(workload, options));
  // Templates that cannot add residuals by products refuse them.
  auto steps = VtaStepsOf(vta.design, workload, epilogue);
  TW_RETURN_IF_ERROR(steps);
  VtaKernel kernel;
  kernel.workload = workload.Key();
  kernel.epilogue = epilogue;
  kernel.operand_addends = std::move(steps->operand_addends);
  auto asked = Ask(workload, vta, options);
  TW_RETURN_IF_ERROR(asked);
  kernel.explanation = asked->explanation;
  if (asked->candidate.has_value()) {
    const Status built = BuildAsked(*asked, workload, options.target, kernel);
    if (built.ok()) {
      kernel.tuned = !asked->source.empty();
      kernel.source = asked->source;
      return kernel;
    }
    kernel.explanation += "; not usable here: " + built.message();
    if (BuildNeighbour(*asked->candidate, workload, vta, options.target, kernel).ok()) {
      kernel.explanation += "; the best of the configs next to it";
      return kernel;
    }
  }
  TW_RETURN_IF_ERROR(BuildDefault(workload, options, kernel));
  kernel.explanation += "; default config of " + kernel.template_key;
  return kernel;
}

}  // namespace tilewright
