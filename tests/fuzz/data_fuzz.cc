// The files that calibration data is in.

#include <cstdint>
#include <string_view>

#include "src/media/npy.h"
#include "src/media/npz.h"
#include "src/media/picture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)tilewright::ParseNpz(bytes).ok();
  if (const auto picture = tilewright::ParsePicture(bytes); picture.ok()) {
    (void)tilewright::FitPicture(*picture, 3, 5, 3, tilewright::PictureFit::kCrop).ok();
  }
  if (auto array = tilewright::ParseNpy(bytes); array.ok()) {
    (void)tilewright::ParseNpy(tilewright::FormatNpy(*array)).ok();
  }
  return 0;
}
