#include <cstdint>
#include <string_view>

#include "src/graph/ir/graph.h"
#include "src/graph/passes/passes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto requantize :
       {tilewright::Requantize::kByFloat, tilewright::Requantize::kByIntegers}) {
    auto graph = tilewright::ImportOnnx(bytes, "fuzz", {requantize});
    if (graph.ok()) (void)tilewright::ExtractTasks(*graph).ok();
  }
  return 0;
}
