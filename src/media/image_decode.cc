// Image decoding by libjpeg-turbo and libpng, scaling by a separable triangle filter, and
// normalization into a batch.

#include "src/media/image_decode.h"

#include <fmt/format.h>
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "src/media/netpbm.h"

namespace tilewright {
namespace {

constexpr std::int64_t kMaxPixelsOfSide = std::int64_t{1} << 15;
constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;

bool IsJpeg(std::string_view bytes) { return bytes.starts_with("\xFF\xD8\xFF"); }
bool IsPng(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1A\n"); }

Status CheckSize(std::int64_t width, std::int64_t height) {
  if (width >= 1 && height >= 1 && width <= kMaxPixelsOfSide && height <= kMaxPixelsOfSide &&
      width * height <= kMaxPixels) {
    return Status();
  }
  return InvalidArgument(
      fmt::format("image of {} x {} pixels, expected at most {} a side and {} in total", width,
                  height, kMaxPixelsOfSide, kMaxPixels));
}

Result<Tensor> ParseJpeg(std::string_view bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto size = static_cast<unsigned long>(bytes.size());
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (decoder == nullptr) return Internal("no JPEG decoder");
  const auto damaged = [&] {
    return InvalidArgument(fmt::format("JPEG: {}", tjGetErrorStr2(decoder.get())));
  };
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(decoder.get(), data, size, &width, &height, &subsampling, &colours) !=
      0) {
    return damaged();
  }
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
    return InvalidArgument("JPEG with four inks (CMYK), expected grey or colour (RGB)");
  }
  if (width == 0) return InvalidArgument("JPEG: the file ends in its header");
  TW_RETURN_IF_ERROR(CheckSize(width, height));
  const bool grey = colours == TJCS_GRAY;
  Tensor image(TensorType{{height, width, grey ? 1 : 3}, kUInt8});
  if (tjDecompress2(decoder.get(), data, size, image.As<std::uint8_t>().data(), width, 0, height,
                    grey ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT) != 0) {
    return damaged();
  }
  return image;
}

Result<Tensor> ParsePng(std::string_view bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> cleanup(&png, png_image_free);
  const auto damaged = [&] { return InvalidArgument(fmt::format("PNG: {}", png.message)); };
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) return damaged();
  TW_RETURN_IF_ERROR(CheckSize(png.width, png.height));
  const bool grey = (png.format & PNG_FORMAT_FLAG_COLOR) == 0;
  png.format = grey ? PNG_FORMAT_GA : PNG_FORMAT_RGBA;  // with alpha, libpng does not blend
  std::vector<png_byte> pixels(PNG_IMAGE_SIZE(png));
  if (png_image_finish_read(&png, nullptr, pixels.data(), 0, nullptr) == 0) return damaged();
  const std::size_t channels = grey ? 1 : 3;
  Tensor image(TensorType{{png.height, png.width, static_cast<std::int64_t>(channels)}, kUInt8});
  const auto out = image.As<std::uint8_t>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = pixels[i / channels * (channels + 1) + i % channels];
  }
  return image;
}

/// Source positions and weights of `count` target positions from `begin` on, along a side that is
/// scaled to `whole`.
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weights;
};
std::vector<Taps> TapsOf(std::int64_t side, std::int64_t whole, std::int64_t begin,
                         std::int64_t count) {
  const double step = static_cast<double>(side) / static_cast<double>(whole);
  const double reach = std::max(1.0, step);
  std::vector<Taps> all;
  for (std::int64_t i = begin; i < begin + count; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * step;
    Taps taps;
    taps.first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - reach)));
    const auto end =
        std::min<std::int64_t>(side, static_cast<std::int64_t>(std::ceil(centre + reach)));
    double sum = 0;
    for (std::int64_t place = taps.first; place < end; ++place) {
      const double far = std::abs(static_cast<double>(place) + 0.5 - centre) / reach;
      taps.weights.push_back(static_cast<float>(std::max(0.0, 1 - far)));
      sum += taps.weights.back();
    }
    for (float& weight : taps.weights) weight = static_cast<float>(weight / sum);
    all.push_back(std::move(taps));
  }
  return all;
}

Tensor Scale(const Tensor& image, const std::vector<Taps>& rows, const std::vector<Taps>& columns,
             std::int64_t channels) {
  const std::int64_t height = image.shape()[0], width = image.shape()[1], given = image.shape()[2];
  const auto out_height = std::ssize(rows), out_width = std::ssize(columns);
  const auto from = image.As<std::uint8_t>();
  std::vector<float> narrow(static_cast<std::size_t>(height * out_width * given));
  std::size_t at = 0;
  for (std::int64_t y = 0; y < height; ++y) {
    for (const Taps& taps : columns) {
      for (std::int64_t c = 0; c < given; ++c) {
        auto place = static_cast<std::size_t>((y * width + taps.first) * given + c);
        float sum = 0;
        for (float weight : taps.weights) {
          sum += weight * static_cast<float>(from[place]);
          place += static_cast<std::size_t>(given);
        }
        narrow[at++] = sum;
      }
    }
  }
  Tensor out(TensorType{{out_height, out_width, channels}, kFloat32});
  const auto to = out.As<float>();
  at = 0;
  for (const Taps& taps : rows) {
    for (std::int64_t x = 0; x < out_width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        auto place =
            static_cast<std::size_t>((taps.first * out_width + x) * given + std::min(c, given - 1));
        float sum = 0;
        for (float weight : taps.weights) {
          sum += weight * narrow[place];
          place += static_cast<std::size_t>(out_width * given);
        }
        to[at++] = sum;
      }
    }
  }
  return out;
}

}  // namespace

bool IsDecodableImage(std::string_view bytes) {
  return IsJpeg(bytes) || IsPng(bytes) || IsNetpbm(bytes);
}

Result<Tensor> DecodeImage(std::string_view bytes) {
  if (IsJpeg(bytes)) return ParseJpeg(bytes);
  if (IsPng(bytes)) return ParsePng(bytes);
  return ParseNetpbm(bytes);
}

Result<Tensor> FitImage(const Tensor& image, std::int64_t height, std::int64_t width,
                        std::int64_t channels, ImageFit fit) {
  const std::int64_t from_height = image.shape()[0], from_width = image.shape()[1],
                     given = image.shape()[2];
  const bool fits = from_height == height && from_width == width;
  if ((given != channels && given != 1) || (fit == ImageFit::kExact && !fits)) {
    return InvalidArgument(fmt::format(
        "image of {} x {} pixels in {} channels, expected {} x {} in {}{}", from_width, from_height,
        given, width, height, channels, fits ? "" : "; --image-fit crop or stretch scales images"));
  }
  std::int64_t whole_height = height, whole_width = width;
  if (fit == ImageFit::kCrop) {
    const double scale = std::max(static_cast<double>(height) / static_cast<double>(from_height),
                                  static_cast<double>(width) / static_cast<double>(from_width)) *
                         8 / 7;
    whole_height =
        std::max<std::int64_t>(height, std::llround(scale * static_cast<double>(from_height)));
    whole_width =
        std::max<std::int64_t>(width, std::llround(scale * static_cast<double>(from_width)));
  }
  return Scale(image, TapsOf(from_height, whole_height, (whole_height - height) / 2, height),
               TapsOf(from_width, whole_width, (whole_width - width) / 2, width), channels);
}

Status WriteImageToBatch(std::string_view bytes, const ImageOptions& options, std::int64_t index,
                         Tensor& batch) {
  const TensorType& type = batch.type();
  const bool four = type.shape.size() == 4 && (type.dtype == kFloat32 || type.dtype == kUInt8);
  const auto has = [&](std::size_t dim, std::int64_t count) {
    return four && type.shape[dim] == count;
  };
  const bool nchw = has(1, 3) || (has(1, 1) && !has(3, 3));
  if (!nchw && !has(3, 3) && !has(3, 1)) {
    return InvalidArgument(
        fmt::format("images are for inputs of float32 or uint8, NCHW or NHWC, of 1 or 3 "
                    "channels; this one is {}",
                    type.ToString()));
  }
  TW_ASSIGN_OR_RETURN(auto image, DecodeImage(bytes));
  const std::int64_t height = type.shape[nchw ? 2 : 1], width = type.shape[nchw ? 3 : 2],
                     channels = type.shape[nchw ? 1 : 3], pixels = height * width;
  TW_ASSIGN_OR_RETURN(const auto fitted, FitImage(image, height, width, channels, options.fit));
  const auto from = fitted.As<float>();
  for (std::int64_t i = 0; i < pixels * channels; ++i) {
    const std::int64_t channel = i % channels;
    const auto c = static_cast<std::size_t>(channel);
    const double x = from[static_cast<std::size_t>(i)];
    const double value =
        type.dtype == kUInt8 ? std::round(x) : (x / 255 - options.mean[c]) / options.stddev[c];
    const std::int64_t place = nchw ? channel * pixels + i / channels : i;
    batch.Set(index * pixels * channels + place, value);
  }
  return Status();
}

}  // namespace tilewright
