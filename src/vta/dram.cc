#include "src/vta/dram.h"

#include <algorithm>
#include <utility>

#include "src/base/math.h"
#include "src/base/status.h"

namespace tilewright::vta {

std::int64_t Dram::Allocate(std::string name, std::int64_t bytes, bool writable) {
  TW_CHECK(bytes >= 0);
  const std::int64_t address = RoundUp(size(), kPageBytes) + kPageBytes;
  bytes_.resize(static_cast<std::size_t>(address + bytes));
  buffers_.push_back({std::move(name), address, bytes, writable});
  return address;
}

std::int64_t Dram::Allocate(std::string name, std::span<const std::byte> contents, bool writable) {
  const std::int64_t address =
      Allocate(std::move(name), static_cast<std::int64_t>(contents.size()), writable);
  std::ranges::copy(contents, bytes_.begin() + address);
  return address;
}

const Dram::Buffer* Dram::Find(std::int64_t address, std::int64_t bytes) const {
  const auto after = std::ranges::upper_bound(buffers_, address, {}, &Buffer::address);
  if (after == buffers_.begin()) return nullptr;
  const Buffer& buffer = *(after - 1);
  return address + bytes <= buffer.address + buffer.bytes ? &buffer : nullptr;
}

std::span<std::byte> Dram::Bytes(std::int64_t address, std::int64_t bytes) {
  TW_CHECK(Find(address, bytes) != nullptr);
  return {bytes_.data() + address, static_cast<std::size_t>(bytes)};
}

}  // namespace tilewright::vta
