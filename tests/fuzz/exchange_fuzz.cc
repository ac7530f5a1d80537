// T4 files and cachefiles, also compressed: reading neither crashes nor takes long, and what was
// read is written so that it is read back as it was.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/space/exchange/cachefile.h"
#include "src/space/exchange/gzip.h"
#include "src/space/exchange/t4.h"

using namespace tilewright;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (IsGzip(text)) {
    auto unpacked = Gunzip(text, 1 << 24);
    if (!unpacked.ok()) return 0;
    text = *std::move(unpacked);
  }
  if (const auto t4 = T4File::Parse(text); t4.ok()) {
    const auto again = T4File::Parse(t4->ToString());
    TW_CHECK(again.ok() && again->ToString() == t4->ToString(), "a T4 file changes");
    (void)ToCacheFile(*t4);
  }
  if (const auto cache = CacheFile::Parse(text); cache.ok()) {
    const auto again = CacheFile::Parse(cache->ToString());
    TW_CHECK(again.ok() && again->ToString() == cache->ToString(), "a cachefile changes");
    (void)ToT4(*cache);
  }
  return 0;
}
