// Files of calibration data.

#include <cstdint>
#include <string_view>

#include "src/media/image_decode.h"
#include "src/media/npy.h"
#include "src/media/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)tilewright::ParseNpz(bytes).ok();
  if (const auto image = tilewright::DecodeImage(bytes); image.ok()) {
    (void)tilewright::FitImage(*image, 3, 5, 3, tilewright::ImageFit::kCrop).ok();
  }
  if (auto array = tilewright::ParseNpy(bytes); array.ok()) {
    (void)tilewright::ParseNpy(tilewright::FormatNpy(*array)).ok();
  }
  return 0;
}
