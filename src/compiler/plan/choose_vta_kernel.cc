#include "src/compiler/plan/choose_vta_kernel.h"

#include <fmt/format.h>

#include <utility>

#include "records/autotvm/tuple.h"
#include "src/templates/vta/launch.h"

namespace tilewright {
namespace {

bool IsOfDesign(const records::ImportedRecord& record, const vta::Design& design) {
  const auto target = records::AutotvmTarget::Parse(record.target);
  if (!target.ok()) return false;
  const auto other = vta::Design::FromModel(target->model());
  return other.ok() && other->Name() == design.Name();
}

}  // namespace

Status CheckDesign(const Target& target) {
  const auto vta = VtaTargetOf(target);
  TW_RETURN_IF_ERROR(vta);
  const vta::Design& design = vta->design;
  if (design.inp_bits() == 8 && design.wgt_bits() == 8) return Status();
  return InvalidArgument(
      fmt::format("design {} has {} bits for activations and {} for weights, expected 8",
                  design.Name(), design.inp_bits(), design.wgt_bits()));
}

Status CheckServedByVta(const Workload& workload, const CompileOptions& options) {
  if (options.templates->For(workload, options.target).empty()) {
    return Unsupported(VtaRefusalOf(*options.templates, workload, options.target));
  }
  const bool alone =
      !IsAnchor(workload.op) && records::AutotvmName(workload, options.target).empty();
  if (alone && options.autotvm.has_value()) {
    return Unsupported("rule autotvm: there is no such template of a VTA");
  }
  return Status();
}

// The simulator has no imported records of its own: AutoTVM uses those of a board with the same
// key, which may have another design. So boards of the same design are queried by name.
Result<records::CatalogAnswer> QueryBoardRecords(records::LookupRequest request,
                                                 records::Catalog& catalog) {
  const auto vta = VtaTargetOf(*request.target);
  TW_RETURN_IF_ERROR(vta);
  const vta::Design& design = vta->design;
  request.accept = records::DownTo(records::AnswerLevel::kHit);
  std::vector<std::string> boards = {design.target()};
  for (const char* board : {"pynq", "ultra96", "zcu104", "de10nano", "intelfocl", "sim", "tsim"}) {
    if (board != design.target()) boards.emplace_back(board);
  }
  const std::string package = request.autotvm->package;
  records::CatalogAnswer none;
  for (const std::string& board : boards) {
    TW_ASSIGN_OR_RETURN(auto target,
                        records::AutotvmTarget::Parse("vta -model=" + board + "_" + design.Name()));
    const records::AutotvmLookup autotvm = {std::move(target), {}, package};
    request.autotvm = &autotvm;
    TW_ASSIGN_OR_RETURN(auto answer, catalog.Query(request));
    const records::ImportedRecord* record = answer.imported();
    if (none.answer.explanation.empty()) none.answer.explanation = answer.answer.explanation;
    if (record == nullptr || !IsOfDesign(*record, design)) {
      records::PreferCause(none.answer.cause,
                           record == nullptr ? std::move(answer.answer.cause)
                                             : records::MissCause{records::MissReason::kOtherDevice,
                                                                  "boards with another design"});
      continue;
    }
    answer.source = fmt::format("{}:{}", record->file, record->line);
    // Version 0: the record has no code; see its explanation.
    if (answer.chosen->template_version == 0) answer.chosen.reset();
    return answer;
  }
  none.answer.explanation += "; no record of a board with the design " + design.Name();
  return none;
}

Result<KernelChoice> BestNeighbor(const TemplateEntry& entry, const Config& config,
                                  const Workload& workload, const Target& target,
                                  const std::function<Result<KernelChoice>(const Config&)>& build) {
  TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(target));
  TW_ASSIGN_OR_RETURN(auto space, entry.define_space(workload, target));
  TW_ASSIGN_OR_RETURN(auto located, space.Locate(config));
  const std::vector<std::int64_t> digits = space.Digits(located.index);
  Result<KernelChoice> best = Unsupported("nor any config next to it");
  double least = 0;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    for (std::int64_t value = 0; value < space.knobs()[k].size(); ++value) {
      if (value == digits[k]) continue;
      std::vector<std::int64_t> changed = digits;
      changed[k] = value;
      auto tried = build(space.At(space.IndexOf(changed)));
      if (!tried.ok()) continue;
      const auto cost = CostOfStream(vta, tried->stream, vta.metric == kVtaCycles);
      if (!cost.ok() || (best.ok() && cost->Of(vta.metric) >= least)) continue;
      least = cost->Of(vta.metric);
      best = std::move(tried);
    }
  }
  return best;
}

}  // namespace tilewright
