#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "src/base/status.h"

namespace tilewright {

/// Memory of one tensor or workspace that detects accesses out of bounds. An inaccessible page
/// follows the end (an access there is a SIGSEGV), and a red zone of known bytes precedes the
/// start, with another inaccessible page before it. Up to 63 bytes between the last element and the
/// page, which keep the start 64-byte aligned, belong to the red zone too.
class GuardedBuffer {
 public:
  static constexpr std::int64_t kAlignment = 64;
  /// Returns zeroed memory.
  /// Errors: kInvalidArgument for a negative size; kUnavailable if there is no memory.
  static Result<GuardedBuffer> Create(std::int64_t bytes);

  void* data() const { return data_; }
  std::int64_t size() const { return bytes_; }
  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(data_), static_cast<std::size_t>(bytes_)};
  }
  /// Errors: kCorrupt with the offset (bytes from the start of the data) of the first changed byte
  /// of the red zone.
  Status CheckRedZone() const;

 private:
  struct Unmap {
    Unmap() : Unmap(0) {}
    explicit Unmap(std::size_t mapped) : length(mapped) {}
    std::size_t length;
    void operator()(std::byte* mapping) const;
  };
  GuardedBuffer() = default;
  std::unique_ptr<std::byte, Unmap> mapping_;
  std::byte* red_zone_ = nullptr;  // start of it
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::byte* end_ = nullptr;  // start of the inaccessible page
};

}  // namespace tilewright
