// Every short text format of Tilewright: workload keys, tuples, epilogues, configs, targets,
// boards, fingerprints, models of VTA designs, sizes and values of inputs. Valid input must print
// to a text that parses to the same value.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "records/autotvm/tuple.h"
#include "src/base/status.h"
#include "src/graph/ir/bindings.h"
#include "src/graph/open/size_counts.h"
#include "src/graph/open/size_range.h"
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

using Texts = std::vector<std::string>;

// Returns some bindings as equivalent texts of options.
tilewright::BindingTexts TextsOf(const tilewright::Bindings& bindings) {
  tilewright::BindingTexts texts;
  for (const std::string& option : bindings.Options()) {
    const std::size_t space = option.find(' ');
    const std::string name = option.substr(0, space);
    Texts& list = name == "--shape" ? texts.shapes : name == "--dim" ? texts.dims : texts.values;
    list.push_back(option.substr(space + 1));
  }
  return texts;
}

void RangeRoundTrip(std::string_view text) {
  const auto range = tilewright::ParseSizeRange(text);
  if (!range.ok() || !range->has_value()) return;
  const auto again = tilewright::ParseSizeRange((*range)->ToString());
  TW_CHECK(again.ok() && again->has_value() && (*again)->ToString() == (*range)->ToString());
}

// Counts that were read are read again as the same, and choose at most four sizes.
void SizeCountsRoundTrip(std::string_view text) {
  const auto counts = tilewright::ParseSizeCounts(text, "file");
  if (!counts.ok()) return;
  std::string lines;
  for (const auto& [size, count] : *counts) lines += fmt::format("{},{}\n", size, count);
  const auto again = tilewright::ParseSizeCounts(lines, "file");
  TW_CHECK(again.ok() && *again == *counts, lines);
  const tilewright::SizeRange range{"n", 1, tilewright::kMaxOpenSize, *counts};
  const auto sizes = tilewright::SizesToTune(range);
  TW_CHECK(!sizes.empty() && sizes.size() <= 4, lines);
}

void BindingRoundTrip(const tilewright::BindingTexts& texts) {
  const auto sets = tilewright::ParseBindings(texts);
  if (!sets.ok()) return;
  for (const tilewright::Bindings& set : *sets) {
    const auto again = tilewright::ParseBindings(TextsOf(set));
    TW_CHECK(again.ok() && again->size() == 1, again.status().message());
    TW_CHECK(again->front().Options() == set.Options(), set.Options().front());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;  // NOLINT: a test program of one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  RangeRoundTrip(text);
  SizeCountsRoundTrip(text);
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
  const Texts one = {std::string(text)};
  BindingRoundTrip({one, {}, {}});
  BindingRoundTrip({{}, one, {}});
  BindingRoundTrip({{}, {}, one});
  for (const DataType dtype : {kInt64, kInt8, kBool, kFloat32}) {
    (void)TensorOfText(text, {{2}, dtype}).ok();
  }
  (void)records::ParseAutotvmTuple(text).ok();
  (void)ParsePreset(text, "board").ok();
  return 0;
}
