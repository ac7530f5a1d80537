#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/base/status.h"

namespace tilewright::measure {

/// Guarded memory of one kernel parameter, 64-byte aligned. It detects out-of-bounds accesses.
///
/// Layout: guard page(s) | red zone | data | red zone up to the next 64 bytes | guard page. The
/// data end at most 63 bytes before the guard page; the bytes between are a red zone whose pattern
/// is checked. Move-only.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  /// shared: processes forked later share the contents with this one. Errors: kUnavailable if the
  /// system is out of memory.
  static Result<GuardedMemory> Create(std::int64_t bytes, bool shared = false);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;
  ~GuardedMemory();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  /// Requests large pages where the system supports them. Call it before the first write.
  void PreferLargePages();
  /// Fills the data with `pattern`.
  void Poison(std::uint8_t pattern);
  /// Makes the data read-only (a write is a memory fault) or writable again.
  void SetReadOnly(bool read_only);
  /// Selects whether processes forked from now on inherit the memory (copy on write). A fork is
  /// faster without memory that the child does not need.
  void SetInherited(bool inherited);
  /// Returns the offset in bytes from the start of the data to the first changed red-zone byte
  /// (negative: before the data), or `kIntact`.
  std::int64_t FindDamage() const;
  static constexpr std::int64_t kIntact = INT64_MIN;
  /// Restores the red zones.
  void FillRedZones();
  /// Returns whether the mapping, guard pages included, contains the address; sets *offset to the
  /// distance from the start of the data. Safe in a signal handler.
  bool Covers(const void* address, std::int64_t* offset) const;

 private:
  std::byte* mapping_ = nullptr;
  std::int64_t mapping_bytes_ = 0;
  std::byte* open_ = nullptr;  // the accessible part: mapping without guard pages
  std::int64_t open_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace tilewright::measure
