// Texts that the compiler reads: kernels.json of a VTA bundle, and the output of ptxas. A valid
// index must print to a text that parses to the same value.

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/codegen/nvptx/ptxas.h"
#include "src/compiler/vta_bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;  // NOLINT: a test program of one function
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto plan = ParseVtaBundleIndex(text); plan.ok()) {
    const std::string printed = VtaBundleIndex(*plan);
    const auto again = ParseVtaBundleIndex(printed);
    TW_CHECK(again.ok() && VtaBundleIndex(*again) == printed, printed);
  }
  for (const KernelResources& kernel : ParsePtxasReport(text)) {
    TW_CHECK(kernel.kernel.size() <= size, kernel.kernel);
  }
  return 0;
}
