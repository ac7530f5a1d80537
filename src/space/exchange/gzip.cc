#include "src/space/exchange/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "src/base/files/file.h"

namespace tilewright {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's code for the gzip format with the largest window
constexpr std::size_t kChunk = std::size_t{1} << 18;

unsigned char* BytesOf(const char* text) {
  // zlib does not change its input.
  return reinterpret_cast<unsigned char*>(const_cast<char*>(text));
}

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

Result<std::string> Gunzip(std::string_view bytes, std::int64_t max_bytes) {
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return Internal("zlib: out of memory");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, &inflateEnd);
  std::string text, chunk(kChunk, '\0');
  while (!bytes.empty()) {
    const auto given =
        static_cast<uInt>(std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max()));
    stream.next_in = BytesOf(bytes.data());
    stream.avail_in = given;
    int code = Z_OK;
    do {
      stream.next_out = BytesOf(chunk.data());
      stream.avail_out = static_cast<uInt>(chunk.size());
      code = inflate(&stream, Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        return Corrupt("damaged gzip file");
      }
      text.append(chunk, 0, chunk.size() - stream.avail_out);
      if (text.size() > static_cast<std::uint64_t>(max_bytes)) {
        return InvalidArgument("more than " + std::to_string(max_bytes) + " bytes uncompressed");
      }
    } while (code == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
    const std::size_t used = given - stream.avail_in;
    bytes.remove_prefix(used);
    if (code == Z_STREAM_END) {
      if (bytes.empty()) return text;
      if (!IsGzip(bytes)) return Corrupt("gzip file with other data at its end");
      inflateReset(&stream);
    } else if (used == 0) {
      break;
    }
  }
  return Corrupt("truncated gzip file");
}

std::string Gzip(std::string_view text) {
  z_stream stream = {};
  TW_CHECK(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                        Z_DEFAULT_STRATEGY) == Z_OK,
           "zlib: out of memory");
  const std::unique_ptr<z_stream, decltype(&deflateEnd)> owner(&stream, &deflateEnd);
  std::string bytes, chunk(kChunk, '\0');
  bool done = false;
  while (!done) {
    const auto given =
        static_cast<uInt>(std::min<std::size_t>(text.size(), std::numeric_limits<uInt>::max()));
    stream.next_in = BytesOf(text.data());
    stream.avail_in = given;
    text.remove_prefix(given);
    do {
      stream.next_out = BytesOf(chunk.data());
      stream.avail_out = static_cast<uInt>(chunk.size());
      done = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
      bytes.append(chunk, 0, chunk.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  return bytes;
}

Result<std::string> ReadMaybeGzip(const std::string& path) {
  TW_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  if (!IsGzip(bytes)) return bytes;
  Result<std::string> text = Gunzip(bytes);
  if (!text.ok()) return text.status().WithContext(path);
  return text;
}

Status WriteMaybeGzip(const std::string& path, std::string_view text) {
  return path.ends_with(".gz") ? WriteFile(path, Gzip(text)) : WriteFile(path, text);
}

}  // namespace tilewright
