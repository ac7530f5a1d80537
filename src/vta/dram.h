#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewright::vta {

/// Memory that transfers address: buffers at page boundaries, with an unused page between them, so
/// that an access beyond the end of one does not reach the next.
class Dram {
 public:
  static constexpr std::int64_t kPageBytes = 4096;

  struct Buffer {
    std::string name;
    std::int64_t address = 0;
    std::int64_t bytes = 0;
    bool writable = false;
  };

  /// Adds a zero-filled buffer and returns its address in bytes. Invalidates spans of earlier
  /// buffers.
  std::int64_t Allocate(std::string name, std::int64_t bytes, bool writable);
  /// The same, filled with `contents`.
  std::int64_t Allocate(std::string name, std::span<const std::byte> contents, bool writable);

  const std::vector<Buffer>& buffers() const { return buffers_; }
  /// Returns the buffer that contains all of [address, address + bytes), or null.
  const Buffer* Find(std::int64_t address, std::int64_t bytes) const;
  /// Requires that one buffer contains all of it.
  std::span<std::byte> Bytes(std::int64_t address, std::int64_t bytes);
  /// Returns the total size, including gaps.
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

 private:
  std::vector<Buffer> buffers_;  // ascending addresses
  std::vector<std::byte> bytes_;
};

}  // namespace tilewright::vta
