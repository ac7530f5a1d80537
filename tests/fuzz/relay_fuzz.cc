#include <cstdint>
#include <string_view>
#include <utility>

#include "src/graph/ir/graph.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/pack.h"
#include "src/graph/passes/passes.h"
#include "src/graph/quantize/passes.h"
#include "src/graph/relay/export.h"
#include "src/graph/relay/syntax.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto module = tilewright::relay::Parse(text);
  if (!module.ok()) return 0;
  const std::string printed = Print(*module, tilewright::relay::Numbering::kRecompute);
  (void)Print(*module, tilewright::relay::Numbering::kKeep);
  (void)tilewright::relay::Parse(printed).ok();
  auto graph = tilewright::ImportRelay(text, "fuzz");
  if (!graph.ok()) return 0;
  (void)tilewright::ExtractTasks(*graph).ok();
  (void)tilewright::ExportRelay(*graph).ok();
  (void)tilewright::PrintRelay(*graph).ok();
  const tilewright::quantize::Config config;
  auto marked = tilewright::quantize::Partition(graph->CloneWithout(16), config);
  if (marked.ok()) (void)tilewright::quantize::Annotate(*std::move(marked), config, nullptr).ok();
  tilewright::PackReport report;
  (void)tilewright::PackForVta(*std::move(graph), tilewright::vta::Design::Default(), {}, &report)
      .ok();
  return 0;
}
