// Texts of schedules: parsing neither crashes nor takes long, valid input is written to a text that
// parses to the same value, and applying it to a workload is rejected or can be lowered.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/schedule/lower/lower.h"
#include "src/templates/text/text_template.h"

using namespace tilewright;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto parsed = ParseScheduleText(text);
  if (!parsed.ok()) return 0;
  const auto again = ParseScheduleText(parsed->text);
  TW_CHECK(again.ok() && again->text == parsed->text && again->key == parsed->key,
           "a canonical text is not its own");
  const auto target =
      Target::Parse(parsed->device == "llvm" ? "llvm -mcpu=skylake-avx512" : "cuda -arch=sm_80");
  const TemplateEntry entry = EntryOfText(*parsed);
  LowerLimits limits;
  limits.max_statements = 2000;
  for (const char* key :
       {"dense(float32[6,8]MK,float32[20,8]NK)->float32",
        "conv2d(float32[1,4,6,6]NCHW,float32[8,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
        "expression(const x0:float32[8,6];input x1:float32[4,6];t0[i0:4,i1:8]=sum(r0:6)x0[i1,r0]*"
        "x1[i0,r0])"}) {
    const auto workload = Workload::Parse(key);
    TW_CHECK(workload.ok(), workload.status().message());
    if (!entry.refuses(*workload, *target).empty()) continue;
    const auto config = entry.default_config(*workload, *target);
    if (!config.ok()) continue;
    const auto kernel = entry.apply(*workload, Epilogue(), *target, *config);
    if (kernel.ok()) (void)Lower(kernel->schedule, "kernel", limits).ok();
  }
  return 0;
}
