#include "measure/evaluate/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/math.h"

namespace tilewright::measure {
namespace {

constexpr int kRedZone = 0xC7;
constexpr std::int64_t kAlignment = 64;
/// Inaccessible bytes on either side: they catch an index that is off by a row, not only by one.
constexpr std::int64_t kGuardBytes = 64 * 1024;

}  // namespace

Result<GuardedMemory> GuardedMemory::Create(std::int64_t bytes, bool shared) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  GuardedMemory memory;
  memory.bytes_ = bytes;
  memory.open_bytes_ = RoundUp(std::max<std::int64_t>(bytes, 1), page);
  memory.mapping_bytes_ = memory.open_bytes_ + 2 * kGuardBytes;
  void* mapping =
      ::mmap(nullptr, static_cast<std::size_t>(memory.mapping_bytes_), PROT_NONE,
             (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    return Unavailable("out of memory: " + std::to_string(bytes) + " bytes asked for");
  }
  memory.mapping_ = static_cast<std::byte*>(mapping);
  memory.open_ = memory.mapping_ + kGuardBytes;
  if (::mprotect(memory.open_, static_cast<std::size_t>(memory.open_bytes_),
                 PROT_READ | PROT_WRITE) != 0) {
    return Unavailable("out of memory: " + std::to_string(bytes) + " bytes asked for");
  }
  memory.data_ = memory.open_ + memory.open_bytes_ - RoundUp(bytes, kAlignment);
  memory.FillRedZones();
  return memory;
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept { *this = std::move(other); }

GuardedMemory& GuardedMemory::operator=(GuardedMemory&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  std::swap(open_, other.open_);
  std::swap(open_bytes_, other.open_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

GuardedMemory::~GuardedMemory() {
  if (mapping_ != nullptr) ::munmap(mapping_, static_cast<std::size_t>(mapping_bytes_));
}

void GuardedMemory::FillRedZones() {
  std::memset(open_, kRedZone, static_cast<std::size_t>(data_ - open_));
  std::byte* end = data_ + bytes_;
  std::memset(end, kRedZone, static_cast<std::size_t>(open_ + open_bytes_ - end));
}

void GuardedMemory::PreferLargePages() {
#if defined(MADV_HUGEPAGE)
  (void)::madvise(open_, static_cast<std::size_t>(open_bytes_), MADV_HUGEPAGE);
#endif
}

void GuardedMemory::Poison(std::uint8_t pattern) {
  if (bytes_ > 0) std::memset(data_, pattern, static_cast<std::size_t>(bytes_));
}

void GuardedMemory::SetReadOnly(bool read_only) {
  if (open_ == nullptr) return;
  (void)::mprotect(open_, static_cast<std::size_t>(open_bytes_),
                   read_only ? PROT_READ : PROT_READ | PROT_WRITE);
}

void GuardedMemory::SetInherited(bool inherited) {
  if (mapping_ == nullptr) return;
  (void)::madvise(mapping_, static_cast<std::size_t>(mapping_bytes_),
                  inherited ? MADV_DOFORK : MADV_DONTFORK);
}

std::int64_t GuardedMemory::FindDamage() const {
  const auto damaged = [](std::byte value) { return value != std::byte{kRedZone}; };
  const std::byte* before = std::find_if(open_, data_, damaged);
  if (before != data_) return before - data_;
  const std::byte* end = data_ + bytes_;
  const std::byte* limit = open_ + open_bytes_;
  const std::byte* after = std::find_if(end, limit, damaged);
  return after == limit ? kIntact : after - data_;
}

bool GuardedMemory::Covers(const void* address, std::int64_t* offset) const {
  const auto* place = static_cast<const std::byte*>(address);
  if (mapping_ == nullptr || place < mapping_ || place >= mapping_ + mapping_bytes_) return false;
  *offset = place - data_;
  return true;
}

}  // namespace tilewright::measure
