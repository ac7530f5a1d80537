#include <cstdint>
#include <string_view>

#include "search/job.h"
#include "tests/support/built_in_strategies.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tilewright::search::ParseJobSettings;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto settings = ParseJobSettings(tilewright::search::BuiltInStrategies(), text, "job.json");
  if (!settings.ok()) return 0;
  const auto again = ParseJobSettings(tilewright::search::BuiltInStrategies(),
                                      tilewright::search::ToJson(*settings), "printed");
  TW_CHECK(again.ok() && *again == *settings, tilewright::search::ToJson(*settings));
  return 0;
}
