// T1 files, conditions and lists of values: parsing neither crashes nor takes long, and what a
// space says of its configs agrees with its conditions.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/space/open/condition_parser.h"
#include "src/space/open/open_space.h"

using namespace tilewright;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)ParseValueList(text);
  const auto space = OpenSpace::ParseT1(text);
  if (space.ok()) {
    Random random(1);
    const OpenConfig config = space->Sample(random);
    TW_CHECK(config.empty() || space->Allows(config), "a sample violates a condition");
    if (space->counted() && !config.empty()) {
      TW_CHECK(space->At(space->NumberOf(config)) == config, "a number is not a config's own");
      for (const OpenConfig& neighbour : space->Neighbours(config)) {
        TW_CHECK(space->NumberOf(neighbour) >= 0, "a neighbour is not allowed");
      }
    }
    const auto again = OpenSpace::ParseT1(space->ToT1());
    TW_CHECK(again.ok() && again->size() == space->size(), "a T1 file is not read back as it was");
    return 0;
  }
  // A text that is no T1 file is a condition.
  Parameter a, b;
  a.name = "a";
  b.name = "b";
  for (std::int64_t i = 0; i < 8; ++i) a.values.emplace_back(i);
  b.type = ParameterType::kText;
  b.values = {std::string("x"), std::string("y")};
  const auto made = OpenSpace::Create("", {a, b}, {std::string(text)});
  if (!made.ok()) return 0;
  std::int64_t allowed = 0;
  for (std::int64_t i = 0; i < made->combinations(); ++i) {
    const OpenConfig config = made->FromIndex(i);
    allowed += made->Allows(config) ? 1 : 0;
    TW_CHECK(!made->counted() || (made->NumberOf(config) >= 0) == made->Allows(config), "count");
  }
  TW_CHECK(!made->counted() || allowed == made->size(), "a space is not counted exactly");
  return 0;
}
