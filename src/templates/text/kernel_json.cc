// Kernel of a config as JSON: knobs, operands with their packing, schedule text and loop nest.

#include "src/templates/text/kernel_json.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "src/base/json.h"
#include "src/ir/program_json.h"
#include "src/schedule/intrinsics.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/knob_docs.h"
#include "src/templates/limits.h"
#include "src/templates/text/text_template.h"
#include "src/tensor/compute/kernel_signature.h"
#include "src/tensor/compute/packing.h"
#include "src/tensor/layout.h"
#include "src/vta/encoding.h"

namespace tilewright {
namespace {

// Raised when a member is removed or changes its meaning.
constexpr int kKernelFormat = 1;

std::string_view RoleName(ParameterRole role) {
  switch (role) {
    case ParameterRole::kData:
      return "data";
    case ParameterRole::kWeight:
      return "weight";
    case ParameterRole::kCompensation:
      return "compensation";
    case ParameterRole::kChannel:
      return "channel";
    case ParameterRole::kBroadcast:
      return "broadcast";
    case ParameterRole::kTensor:
      return "tensor";
    case ParameterRole::kResult:
      return "result";
    case ParameterRole::kInput:
      return "input";
  }
  return "";
}

std::string_view KnobKindName(KnobKind kind) {
  switch (kind) {
    case KnobKind::kSplit:
      return "split";
    case KnobKind::kReorder:
      return "reorder";
    case KnobKind::kAnnotate:
      return "annotate";
    case KnobKind::kOther:
      return "other";
  }
  return "";
}

/// Describes a row-major tensor. The dimensions are those of the layout; they are empty if it has
/// none.
Json PlacedTensorJson(DataType dtype, const std::vector<std::int64_t>& shape,
                      const std::string& text) {
  Json out = {{"dtype", DataTypeName(dtype)},
              {"shape", shape},
              {"elements", Product(shape)},
              {"layout", text}};
  Json& dims = out["dims"] = Json::array();
  const auto layout = Layout::Parse(text);
  if (!layout.ok() || layout->parts().size() != shape.size()) return out;
  const std::vector<std::int64_t> steps = layout->Steps();
  std::int64_t stride = Product(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    stride /= shape[i];
    dims.push_back({{"name", std::string(1, layout->parts()[i].dimension)},
                    {"size", shape[i]},
                    {"stride", stride},
                    {"step", steps[i]}});
  }
  return out;
}

Result<Json> OperandJson(const Workload& workload, const KernelSignature& signature,
                         std::size_t number) {
  const KernelParameter& parameter = signature.parameters[number];
  TW_ASSIGN_OR_RETURN(auto packing, PackingOf(workload, signature, number));
  const bool is_winograd =
      parameter.role == ParameterRole::kWeight && signature.layouts.winograd_tile > 0;
  Json out = {{"role", RoleName(parameter.role)}};
  if (parameter.operand >= 0) out["operand"] = parameter.operand;
  out["logical"] = PlacedTensorJson(packing.own.dtype, packing.own.shape, packing.own_layout);
  out["packed"] = PlacedTensorJson(parameter.type.dtype, packing.shape,
                                   is_winograd ? std::string() : parameter.layout);
  if (is_winograd) {
    out["packed"]["winograd_tile"] = signature.layouts.winograd_tile;
  } else if (parameter.role != ParameterRole::kCompensation) {
    out["packed"]["padding_elements"] = Product(packing.shape) - packing.own.elements();
    out["packed"]["padding_value"] = parameter.padding_value;
  }
  out["packing"] = packing.loops.has_value() ? ProgramJson(*packing.loops) : Json();
  return out;
}

Json KnobsJson(const TemplateEntry& entry, const Workload& workload, const Target& target,
               const Config& config) {
  Json list = Json::array();
  const auto space = entry.define_space(workload, target);
  for (const auto& [name, value] : config.values) {
    auto parsed = ParseJson(value.ToString());
    Json knob = {{"name", name}, {"value", parsed.ok() ? *std::move(parsed) : Json()}};
    if (space.ok()) {
      for (const Knob& one : space->knobs()) {
        if (one.name() == name) knob["kind"] = KnobKindName(one.kind());
      }
    }
    if (const KnobDoc* doc = FindKnobDoc(entry, name)) {
      knob["description"] = std::string(doc->description);
    }
    list.push_back(std::move(knob));
  }
  return list;
}

void CollectIntrinsics(const Stmt& stmt, std::set<std::string>& names) {
  if (stmt->kind == StmtKind::kIntrinsic) names.insert(stmt->name);
  for (const Stmt& inner : stmt->body) CollectIntrinsics(inner, names);
}

Json IntrinsicsJson(const Stmt& body) {
  Json list = Json::array();
  std::set<std::string> names;
  CollectIntrinsics(body, names);
  for (const std::string& name : names) {
    Json one = {{"name", name}};
    if (const DotIntrinsic* dot = FindDotIntrinsic(name)) {
      one.update({{"kind", dot->taps ? "dot_of_taps" : "dot"},
                  {"depth", dot->depth},
                  {"a", DataTypeName(dot->a)},
                  {"b", DataTypeName(dot->b)},
                  {"sum", DataTypeName(dot->acc)}});
    } else if (const TileIntrinsic* tiles = FindTileIntrinsic(name)) {
      one.update({{"kind", "tiles"},
                  {"depth", tiles->depth},
                  {"a", DataTypeName(tiles->a)},
                  {"b", DataTypeName(tiles->b)},
                  {"sum", DataTypeName(tiles->acc)}});
    } else if (const MmaIntrinsic* mma = FindMmaIntrinsic(name)) {
      one.update({{"kind", "mma"},
                  {"m", mma->m},
                  {"n", mma->n},
                  {"k", mma->k},
                  {"a", DataTypeName(mma->operand)},
                  {"b", DataTypeName(mma->operand)},
                  {"sum", DataTypeName(mma->acc)}});
    }
    list.push_back(std::move(one));
  }
  return list;
}

/// Adds operands, schedule and loops.
Status AddLoops(const TemplateEntry& entry, const Workload& workload, const Epilogue& epilogue,
                const Target& target, const Config& config, Json& out) {
  TW_ASSIGN_OR_RETURN(const auto kernel, ApplyTemplate(entry, workload, epilogue, target, config));
  TW_ASSIGN_OR_RETURN(const auto program, Lower(kernel.schedule, "kernel", LowerLimitsFor(target)));
  TW_ASSIGN_OR_RETURN(const auto signature,
                      SignatureOf(workload, epilogue, kernel.layouts, program.parameters));
  Json loops = ProgramJson(program);
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    const std::size_t inputs = signature.inputs().size();
    Json operand = {{"name", i < inputs ? loops["inputs"][i] : loops["outputs"][i - inputs]}};
    TW_ASSIGN_OR_RETURN(auto rest, OperandJson(workload, signature, i));
    operand.update(rest);
    out["operands"].push_back(std::move(operand));
  }
  const auto text = CommentedScheduleText(entry, kernel, workload, epilogue, target, config);
  out["schedule"] = text.ok() ? Json(*text) : Json();
  if (!text.ok()) out["no_schedule"] = text.status().message();
  out["intrinsics"] = IntrinsicsJson(program.body);
  out["loops"] = std::move(loops);
  return {};
}

}  // namespace

Result<std::string> CommentedScheduleText(const TemplateEntry& entry, const Kernel& kernel,
                                          const Workload& workload, const Epilogue& epilogue,
                                          const Target& target, const Config& config) {
  TW_ASSIGN_OR_RETURN(auto text, TextOfKernel(kernel, workload, epilogue, target, "mine"));
  std::string out = fmt::format("# {} {}\n", entry.key, config.ToString());
  if (!epilogue.steps.empty()) out += fmt::format("# followed by {}\n", epilogue.ToString());
  return out + text;
}

Result<nlohmann::ordered_json> KernelJson(const TemplateEntry& entry, const Workload& workload,
                                          const Epilogue& epilogue, const Target& target,
                                          const Config& config) {
  std::string refusal = entry.refuses(workload, target);
  if (!refusal.empty()) return Unsupported(std::string(entry.key) + ": " + refusal);
  Json out = {{"format", kKernelFormat},
              {"workload", workload.Key()},
              {"epilogue", epilogue.ToString()},
              {"target", target.ToString()},
              {"template", entry.key},
              {"template_version", entry.version},
              {"knobs", KnobsJson(entry, workload, target, config)},
              {"operands", Json::array()}};
  if (entry.build_stream != nullptr) {
    TW_ASSIGN_OR_RETURN(auto stream, BuildVtaStream(entry, workload, epilogue, target, config));
    out["schedule"] = out["loops"] = Json();
    out["stream"] = vta::Listing(stream.instructions);
    return out;
  }
  TW_RETURN_IF_ERROR(AddLoops(entry, workload, epilogue, target, config, out));
  return out;
}

}  // namespace tilewright
