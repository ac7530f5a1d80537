#include "src/media/netpbm.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>

namespace tilewright {
namespace {

constexpr std::int64_t kMaxSide = 1 << 15;

/// Scanner of the words of a header; "#" begins a comment until the end of the line.
class Scanner {
 public:
  explicit Scanner(std::string_view bytes) : bytes_(bytes) {}

  /// Returns the next number; -1 if there is no number or it exceeds `most`.
  std::int64_t Number(std::int64_t most) {
    SkipBlanks();
    std::int64_t value = -1;
    while (at_ < bytes_.size() && std::isdigit(static_cast<unsigned char>(bytes_[at_])) != 0) {
      value = std::max<std::int64_t>(value, 0) * 10 + (bytes_[at_++] - '0');
      if (value > most) return -1;
    }
    return value;
  }
  /// Returns the bytes after the header and the blank that ends it.
  std::string_view Rest() const {
    return at_ < bytes_.size() ? bytes_.substr(at_ + 1) : std::string_view();
  }

 private:
  void SkipBlanks() {
    bool comment = false;
    while (at_ < bytes_.size()) {
      const char c = bytes_[at_];
      if (c == '#') comment = true;
      if (c == '\n') comment = false;
      if (!comment && std::isspace(static_cast<unsigned char>(c)) == 0) return;
      ++at_;
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 2;  // after the magic
};

}  // namespace

bool IsNetpbm(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7' &&
         std::isspace(static_cast<unsigned char>(bytes[2])) != 0;
}

Result<Tensor> ParseNetpbm(std::string_view bytes) {
  const char kind = IsNetpbm(bytes) ? bytes[1] : '?';
  if (kind != '2' && kind != '3' && kind != '5' && kind != '6') {
    return InvalidArgument("not a PPM or PGM image (P2, P3, P5 or P6)");
  }
  Scanner scanner(bytes);
  const std::int64_t width = scanner.Number(kMaxSide);
  const std::int64_t height = scanner.Number(kMaxSide);
  const std::int64_t most = scanner.Number(65535);
  if (width < 1 || height < 1) {
    return InvalidArgument(fmt::format("sides of the image: expected 1 to {}", kMaxSide));
  }
  if (most < 0) return InvalidArgument("no maximum of the samples, expected 255");
  if (most != 255) {
    return InvalidArgument(fmt::format("samples up to {}, expected a maximum of 255", most));
  }
  const std::int64_t channels = kind == '3' || kind == '6' ? 3 : 1;
  const TensorType type{{height, width, channels}, kUInt8};
  const bool text = kind == '2' || kind == '3';
  const auto present = static_cast<std::int64_t>(scanner.Rest().size());
  if (present < type.elements() - (text ? 1 : 0)) {  // a sample has at least one byte
    return InvalidArgument(fmt::format("{} bytes of samples, expected {} for {} x {} x {}", present,
                                       type.elements(), width, height, channels));
  }
  Tensor tensor(type);
  if (!text) {
    std::memcpy(tensor.data(), scanner.Rest().data(), static_cast<std::size_t>(type.bytes()));
    return tensor;
  }
  for (std::uint8_t& sample : tensor.As<std::uint8_t>()) {
    const std::int64_t value = scanner.Number(255);
    if (value < 0) return InvalidArgument("samples end early, or one is more than 255");
    sample = static_cast<std::uint8_t>(value);
  }
  return tensor;
}

}  // namespace tilewright
