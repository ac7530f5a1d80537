#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/base/status.h"

namespace tilewright::measure {

/// Memory for one parameter of a kernel, 64-byte aligned, that shows an access outside of it.
///
/// Layout: guard page(s) | red zone | data | red zone up to the next 64 bytes | guard page. The
/// data end at most 63 bytes before the guard page; the bytes between are a red zone whose pattern
/// is checked. Move-only.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  /// shared: processes forked later see what this one writes, and the other way round.
  /// Errors: kUnavailable if the system has no memory left.
  static Result<GuardedMemory> Create(std::int64_t bytes, bool shared = false);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;
  ~GuardedMemory();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  /// Large pages, where the system has them: before anything is written.
  void PreferLargePages();
  /// Every byte of the data becomes `pattern`.
  void Poison(std::uint8_t pattern);
  /// Writing to it is a memory fault from now on (or no longer).
  void SetReadOnly(bool read_only);
  /// Whether processes forked from now on get it (a copy when written). Not copying what a child
  /// does not need makes the fork faster.
  void SetInherited(bool inherited);
  /// Bytes from the start of the data to the first changed red-zone byte (negative: before it), or
  /// `kIntact`.
  std::int64_t FindDamage() const;
  static constexpr std::int64_t kIntact = INT64_MIN;
  /// Makes the red zones whole again.
  void FillRedZones();
  /// Whether an address lies in this mapping, guard pages included; sets *offset to its distance
  /// from the start of the data. Safe in a signal handler.
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
