// Messages between members of a fleet: any text gives a message or an error, and a valid message is
// written unchanged.

#include <cstdint>
#include <string_view>

#include "measure/fleet/wire.h"

namespace {

template <typename T>
void Again(const tilewright::Result<T>& read, tilewright::Result<T> (*decode)(std::string_view)) {
  if (!read.ok()) return;
  const std::string text = tilewright::measure::fleet::Encode(*read);
  const auto again = decode(text);
  TW_CHECK(again.ok(), text);
  TW_CHECK(tilewright::measure::fleet::Encode(*again) == text, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright::measure::fleet;  // NOLINT: a test program of one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Again(DecodeOrder(text), DecodeOrder);
  Again(DecodeHeartbeat(text), DecodeHeartbeat);
  Again(DecodeResult(text), DecodeResult);
  Again(DecodeAnnouncement(text), DecodeAnnouncement);
  Again(DecodeJobAnnouncement(text), DecodeJobAnnouncement);
  Again(DecodeControl(text), DecodeControl);
  return 0;
}
