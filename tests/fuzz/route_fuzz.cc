// Stages after the importers, on any imported graph: passes, several ways of quantization, packing,
// the text of each and its import, and the kernels of a compiled model. Each may reject a graph.
// None may end the program, write an unreadable text, or change a result that it must preserve.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/pack.h"
#include "src/graph/passes/passes.h"
#include "src/graph/quantize/pipeline.h"
#include "src/graph/relay/export.h"
#include "src/tensor/synthetic_data.h"
#include "src/tensor/workload.h"
#include "tests/support/built_in.h"

namespace {

using namespace tilewright;  // NOLINT: a test program of one function

// Larger graphs find nothing else and are slower.
constexpr std::int64_t kMaxElements = 1 << 12;
constexpr int kMaxNodes = 100;
constexpr std::int64_t kMaxMacs = 1 << 20;

bool IsSmall(const Graph& graph) {
  std::int64_t macs = 0;
  for (const Node& node : graph.nodes()) {
    if (node.type.elements() > kMaxElements) return false;
    if (node.kind != NodeKind::kOperator || !IsAnchor(node.op.kind)) continue;
    const auto workload = Workload::FromOperator(node.op, graph.node(node.inputs[0]).type,
                                                 graph.node(node.inputs[1]).type);
    if (!workload.ok() || workload->macs() > kMaxMacs) return false;
    macs += workload->macs();
  }
  return graph.size() <= kMaxNodes && macs <= kMaxMacs;
}

Graph Copy(const Graph& graph) { return graph.CloneWithout(kMaxElements); }

/// Checks the graph that its text is imported to.
void CheckText(const Graph& graph) {
  const auto text = ExportRelay(graph);
  if (!text.ok()) return;
  const auto again = ImportRelay(*text, "fuzz");
  TW_CHECK(again.ok(), again.status().message() + "\n" + *text);
  TW_CHECK(again->outputs().size() == graph.outputs().size(), *text);
}

std::vector<Tensor> Inputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (int id : graph.inputs()) {
    inputs.push_back(
        MakeSyntheticInput(graph.node(id).name, graph.node(id).type, SyntheticInputRule::kRandom));
  }
  return inputs;
}

/// Checks that packing preserves every integer.
void CheckPacked(const Graph& graph) {
  PackReport report;
  const auto packed = PackForVta(Copy(graph), vta::Design::Default(), {}, &report);
  if (!packed.ok() || report.convolutions + report.products == 0) return;
  CheckText(*packed);
  const std::vector<Tensor> inputs = Inputs(graph);
  const auto wanted = EvaluateGraph(graph, inputs);
  if (!wanted.ok()) return;
  const auto results = EvaluateGraph(*packed, inputs);
  TW_CHECK(results.ok(), results.status().message());
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const Tensor &a = (*wanted)[i], &b = (*results)[i];
    TW_CHECK(a.type() == b.type(), a.type().ToString() + " " + b.type().ToString());
    const bool same = std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
    TW_CHECK(same || a.dtype().is_float(), a.type().ToString());
  }
}

void CheckQuantized(const Graph& graph) {
  const std::vector<std::vector<std::pair<const char*, const char*>>> kSettings = {
      {{"skip_conv_layers", "None"}},
      {{"skip_conv_layers", "None"},
       {"skip_dense_layer", "False"},
       {"per_channel", "True"},
       {"weight_scale", "max"},
       {"calibrate_mode", "kl_divergence"}},
      {{"do_simulation", "True"}, {"calibrate_mode", "percentile"}},
      {{"rules", "accurate"}, {"skip_conv_layers", "None"}},
      {{"rules", "accurate"},
       {"skip_conv_layers", "None"},
       {"skip_dense_layer", "False"},
       {"per_channel", "True"},
       {"calibrate_mode", "mse"}}};
  for (const auto& settings : kSettings) {
    quantize::PipelineOptions options;
    for (const auto& [field, value] : settings) TW_CHECK(options.config.Set(field, value).ok());
    options.passes = quantize::DefaultPasses(options.config);
    options.samples.push_back(Inputs(graph));
    std::vector<quantize::IntegerValue> values;
    const auto quantized = quantize::RunPasses(Copy(graph), options, &values);
    if (!quantized.ok()) continue;
    CheckText(*quantized);
    CheckPacked(*quantized);
  }
}

void CheckKernels(const Graph& graph) {
  for (const char* target :
       {"llvm -mcpu=x86-64-v3", "cuda -arch=sm_80", "vta -model=sim_1x16_i8w8a32_15_15_18_17"}) {
    CompileOptions options;
    options.templates = &BuiltInTemplates();
    options.target = *Target::Parse(target);
    options.name = "fuzz";
    (void)MakeCheckedPlan(Copy(graph), options).ok();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto graph = ImportRelay(bytes, "fuzz");
  if (!graph.ok()) graph = ImportOnnx(bytes, "fuzz");
  if (!graph.ok() || !IsSmall(*graph)) return 0;
  SeedConstants(*graph, SeedRule::kMissing);
  CheckText(*graph);
  CheckPacked(*graph);
  CheckQuantized(*graph);
  const auto optimized = Optimize(*std::move(graph));
  if (optimized.ok()) CheckKernels(*optimized);
  return 0;
}
