#include "src/compiler/vta_choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "records/autotvm/match.h"
#include "records/imported.h"
#include "src/base/divisors.h"
#include "src/vta/packed_alu.h"

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
Result<Asked> AskImported(const Workload& workload, const vta::Design& design,
                          const VtaOptions& options) {
  Asked asked;
  std::vector<std::string> boards = {design.target()};
  for (const char* board : {"pynq", "ultra96", "zcu104", "de10nano", "intelfocl", "sim", "tsim"}) {
    if (board != design.target()) boards.emplace_back(board);
  }
  for (const std::string& board : boards) {
    auto target = records::AutotvmTarget::Parse("vta -model=" + board + "_" + design.Name());
    TW_RETURN_IF_ERROR(target);
    std::optional<records::AutotvmTask> task;
    auto answer = records::QueryAutotvm(*options.imported, workload, *target, options.tophub, task);
    TW_RETURN_IF_ERROR(answer);
    if (asked.explanation.empty()) asked.explanation = answer->explanation;
    if (!answer->record.has_value() || !IsOfDesign(*answer->record, design)) continue;
    const records::ImportedRecord& record = *answer->record;
    asked.explanation = answer->explanation;
    asked.source = fmt::format("{}:{}", record.file, record.line);
    auto candidate = records::CandidateOfImported(record, options.target);
    if (candidate.ok()) {
      asked.candidate = *std::move(candidate);
    } else {
      asked.explanation += "; not usable here: " + candidate.status().message();
    }
    return asked;
  }
  asked.explanation += "; no record of a board with the design " + design.Name();
  return asked;
}

Result<Asked> Ask(const Workload& workload, const VtaTarget& vta, const VtaOptions& options) {
  if (options.imported != nullptr) return AskImported(workload, vta.design, options);
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
  question.accept = records::DownTo(std::min(options.accept, records::AnswerLevel::kModel));
  auto answer = options.catalog->Query(question);
  TW_RETURN_IF_ERROR(answer);
  if (const Candidate* candidate = answer->candidate()) asked.candidate = *candidate;
  if (answer->answer.record.has_value()) asked.source = answer->source;
  asked.explanation = answer->answer.explanation;
  return asked;
}

/// Why no template serves a workload: what the one for such operators says.
std::string RefusalOf(const Workload& workload, const Target& target) {
  const TemplateEntry* entry = FindTemplate(workload.op_name() + "_packed.vta");
  if (entry == nullptr) return "no template for " + workload.op_name();
  return std::string(entry->key) + ": " + entry->refuses(workload, target);
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

Status BuildDefault(const Workload& workload, const Target& target, VtaKernel& kernel) {
  std::string reasons;
  for (const TemplateEntry* entry : TemplatesFor(workload, target)) {
    auto config = entry->default_config(workload, target);
    const Status built =
        config.ok() ? Build(*entry, *config, workload, target, kernel) : config.status();
    if (built.ok()) return built;
    reasons += (reasons.empty() ? "" : "; ") + std::string(entry->key) + ": " + built.message();
  }
  return Unsupported(reasons);
}

VtaKernel KernelWith(const VtaEpilogue& steps, const Epilogue& epilogue, std::string workload) {
  VtaKernel kernel;
  kernel.workload = std::move(workload);
  kernel.epilogue = epilogue;
  kernel.operand_addends = steps.operand_addends;
  return kernel;
}

/// Blocks of a result as a point of AutoTVM's space add.vta.
Result<Config> AluConfig(const vta::ResultBlocks& blocks) {
  ConfigSpace space;
  Config values;
  const auto split = [&](const char* name, std::int64_t extent, std::int64_t inner) -> Status {
    auto knob = Knob::Split(name, extent, 2);
    TW_RETURN_IF_ERROR(knob);
    values.values.emplace_back(name, KnobValue{std::vector<std::int64_t>{extent / inner, inner}});
    return space.Add(*std::move(knob));
  };
  TW_RETURN_IF_ERROR(split("tile_co", blocks.co, blocks.block_co));
  TW_RETURN_IF_ERROR(split("tile_h", blocks.height, blocks.block_h));
  TW_RETURN_IF_ERROR(split("tile_w", blocks.width, blocks.block_w));
  return space.Locate(values);
}

/// Every way to cut a result into blocks, the largest blocks first, of equal ones those of longer
/// rows: fewer instructions, and fewer rows for the transfers.
std::vector<vta::ResultBlocks> BlocksOf(const vta::ResultBlocks& result) {
  std::vector<vta::ResultBlocks> list;
  vta::ResultBlocks blocks = result;
  for (std::int64_t w : Divisors(result.width)) {
    blocks.block_w = w;
    for (std::int64_t h : Divisors(result.height)) {
      blocks.block_h = h;
      for (std::int64_t co : Divisors(result.co)) {
        blocks.block_co = co;
        list.push_back(blocks);
      }
    }
  }
  std::ranges::stable_sort(list, std::ranges::greater(), [](const vta::ResultBlocks& b) {
    return std::pair(b.entries(), b.block_w * b.block_h);
  });
  return list;
}

}  // namespace

Result<VtaKernel> ChooseVtaConvolution(const Workload& workload, const Epilogue& epilogue,
                                       const VtaTarget& vta, const VtaOptions& options) {
  if (TemplatesFor(workload, options.target).empty()) {
    return Unsupported(RefusalOf(workload, options.target));
  }
  // Templates that cannot add residuals by products refuse them.
  auto steps = VtaEpilogueOf(vta.design, epilogue, /*gemm_adds=*/true);
  TW_RETURN_IF_ERROR(steps);
  VtaKernel kernel = KernelWith(*steps, epilogue, workload.Key());
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
  }
  TW_RETURN_IF_ERROR(BuildDefault(workload, options.target, kernel));
  kernel.explanation += "; default config of " + kernel.template_key;
  return kernel;
}

Result<VtaKernel> ChooseVtaAlu(const VtaAluGroup& group, const std::string& workload,
                               const VtaTarget& vta, const VtaOptions& options) {
  auto steps = VtaEpilogueOf(vta.design, group.epilogue);
  TW_RETURN_IF_ERROR(steps);
  VtaKernel kernel = KernelWith(*steps, group.epilogue, workload);
  kernel.template_key = std::string(OpName(group.epilogue.steps.front().op.kind)) + ".vta";
  const bool autotvm = options.imported != nullptr;
  std::vector<vta::ResultBlocks> candidates = {group.result};
  if (!autotvm) candidates = BlocksOf(group.result);
  Status status;
  for (const vta::ResultBlocks& blocks : candidates) {
    auto stream = vta::BuildPackedAlu(vta.design, blocks, group.int8_data, steps->steps);
    status = stream.status();
    if (!status.ok()) continue;
    kernel.stream = *std::move(stream);
    auto config = AluConfig(blocks);
    TW_RETURN_IF_ERROR(config);
    kernel.config = config->ToString();
    kernel.explanation =
        autotvm ? "rule autotvm: no record; a tile at a time" : "the largest blocks that fit";
    return kernel;
  }
  return status;
}

}  // namespace tilewright
