#include "src/target/short_target.h"

#include <array>

namespace tilewright {

std::string ShortTargetText(const Target& target) {
  // In the order of importance. A board's -model says more than its -device.
  constexpr std::array<std::string_view, 7> kShown = {"mcpu",        "arch", "model", "device",
                                                      "num-threads", "libs", "metric"};
  std::string text = target.kind_name();
  bool named = false;
  for (const std::string_view option : kShown) {
    const std::string value = target.Option(option);
    const bool threads = option == "num-threads" && value == "1";
    if (value.empty() || value == "unknown" || threads || (option == "device" && named)) continue;
    named = true;
    text += " -" + std::string(option) + "=" + value;
  }
  return text;
}

std::string ShortTargetText(std::string_view target) {
  const auto parsed = Target::Parse(target);
  return parsed.ok() ? ShortTargetText(*parsed) : std::string(target);
}

std::string DistinctTargetText(const Target& target, const Target& other) {
  std::string text = ShortTargetText(target);
  return text == ShortTargetText(other) ? target.ToString() : text;
}

}  // namespace tilewright
