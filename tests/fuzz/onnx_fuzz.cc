#include <cstdint>
#include <string_view>

#include "src/graph/ir/graph.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"

namespace {

// Sizes and values for names of the corpus.
tilewright::LoadOptions Bound() {
  auto sets = tilewright::ParseBindings({{"x=1x4x6"}, {"n=2", "width=4"}, {"shape=4,6", "c=1"}});
  tilewright::LoadOptions options;
  options.bindings = std::move(sets->front());
  options.ignore_unknown_names = true;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto requantize :
       {tilewright::Requantize::kByFloat, tilewright::Requantize::kByIntegers}) {
    auto graph = tilewright::ImportOnnx(bytes, "fuzz", {requantize});
    if (graph.ok()) (void)tilewright::ExtractTasks(*graph).ok();
  }
  static const tilewright::LoadOptions bound = Bound();
  (void)tilewright::ImportOnnx(bytes, "fuzz", bound).ok();
  return 0;
}
