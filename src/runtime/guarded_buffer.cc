#include "src/runtime/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "src/base/math.h"

namespace tilewright {
namespace {

constexpr std::byte kRedZoneByte{0xA5};
// Long enough for a stray row of a tile before the buffer; the inaccessible page precedes it.
constexpr std::int64_t kRedZoneBytes = 1024;

}  // namespace

void GuardedBuffer::Unmap::operator()(std::byte* mapping) const { munmap(mapping, length); }

Result<GuardedBuffer> GuardedBuffer::Create(std::int64_t bytes) {
  if (bytes < 0) return InvalidArgument("buffer of " + std::to_string(bytes) + " bytes");
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::int64_t padded = RoundUp(bytes, kAlignment);
  const std::int64_t inner = RoundUp(padded + kRedZoneBytes, page);
  const auto length = static_cast<std::size_t>(inner + 2 * page);
  void* memory =
      mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Unavailable("no memory for a buffer of " + std::to_string(bytes) + " bytes");
  }
  GuardedBuffer buffer;
  buffer.mapping_ = {static_cast<std::byte*>(memory), Unmap(length)};
  buffer.red_zone_ = buffer.mapping_.get() + page;
  buffer.end_ = buffer.red_zone_ + inner;
  buffer.data_ = buffer.end_ - padded;
  buffer.bytes_ = bytes;
  if (mprotect(buffer.red_zone_, static_cast<std::size_t>(inner), PROT_READ | PROT_WRITE) != 0) {
    return Unavailable("no memory for a buffer of " + std::to_string(bytes) + " bytes");
  }
  auto* start = static_cast<std::byte*>(buffer.data_);
  std::fill(buffer.red_zone_, start, kRedZoneByte);
  std::fill(start + bytes, buffer.end_, kRedZoneByte);
  return buffer;
}

Status GuardedBuffer::CheckRedZone() const {
  const auto* start = static_cast<const std::byte*>(data_);
  auto changed = [](std::byte b) { return b != kRedZoneByte; };
  const std::byte* found = std::find_if(const_cast<const std::byte*>(red_zone_), start, changed);
  if (found == start) {
    const std::byte* after = start + bytes_;
    found = std::find_if(after, const_cast<const std::byte*>(end_), changed);
    if (found == end_) return {};
  }
  return Corrupt("byte " + std::to_string(found - start) + " of a buffer of " +
                 std::to_string(bytes_) + " bytes was written");
}

}  // namespace tilewright
