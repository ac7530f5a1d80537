// Every short text of ours: workload keys, tuples, epilogues, configs, targets, boards,
// fingerprints, models of VTA designs. What parses must print to a text that parses back to the same
// value.

#include <cstdint>
#include <string_view>

#include "records/autotvm/tuple.h"
#include "src/base/status.h"
#include "src/space/config.h"
#include "src/target/cpu.h"
#include "src/target/gpu.h"
#include "src/target/presets.h"
#include "src/target/target.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"
#include "src/vta/design.h"

namespace {

template <typename T, typename Parse, typename Print>
void RoundTrip(std::string_view text, Parse parse, Print print) {
  tilewright::Result<T> value = parse(text);
  if (!value.ok()) return;
  tilewright::Result<T> again = parse(print(*value));
  TW_CHECK(again.ok() && *again == *value, print(*value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;  // NOLINT: a test program of one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  RoundTrip<Workload>(text, Workload::Parse, [](const Workload& w) { return w.Key(); });
  RoundTrip<Epilogue>(text, Epilogue::Parse, [](const Epilogue& e) { return e.ToString(); });
  RoundTrip<Config>(text, Config::Parse, [](const Config& c) { return c.ToString(); });
  RoundTrip<Target>(text, Target::Parse, [](const Target& t) { return t.ToString(); });
  RoundTrip<DeviceFingerprint>(text, DeviceFingerprint::Parse,
                               [](const DeviceFingerprint& d) { return d.ToString(); });
  RoundTrip<vta::Design>(text, vta::Design::FromModel,
                         [](const vta::Design& d) { return d.Model(); });
  if (const auto target = Target::Parse(text); target.ok()) {
    const auto capability = ComputeCapabilityOf(*target);
    TW_CHECK(!capability.ok() || (*capability >= 50 && *capability <= 999), target->ToString());
    (void)target->num_threads();
    (void)target->keys();
  }
  (void)records::ParseAutotvmTuple(text).ok();
  (void)ParsePreset(text, "board").ok();
  return 0;
}
