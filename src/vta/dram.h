#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewright::vta {

/// The memory that transfers address: buffers at page boundaries, with an unused page between them
/// so that what runs over the end of one is not in the next.
class Dram {
 public:
  static constexpr std::int64_t kPageBytes = 4096;

  struct Buffer {
    std::string name;
    std::int64_t address = 0;
    std::int64_t bytes = 0;
    bool writable = false;
  };

  /// Adds a buffer of zeros and returns its address in bytes. Spans of earlier buffers end here.
  std::int64_t Allocate(std::string name, std::int64_t bytes, bool writable);
  /// The same, filled with `contents`.
  std::int64_t Allocate(std::string name, std::span<const std::byte> contents, bool writable);

  const std::vector<Buffer>& buffers() const { return buffers_; }
  /// The buffer that holds all of [address, address + bytes), or null.
  const Buffer* Find(std::int64_t address, std::int64_t bytes) const;
  /// Requires that one buffer holds all of it.
  std::span<std::byte> Bytes(std::int64_t address, std::int64_t bytes);
  /// Of everything, gaps included.
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

 private:
  std::vector<Buffer> buffers_;  // ascending addresses
  std::vector<std::byte> bytes_;
};

}  // namespace tilewright::vta
