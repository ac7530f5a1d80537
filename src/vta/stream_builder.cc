// Instructions in program order with their tokens. A pop is attached to the next instruction of its
// engine, a push to the last one. Micro-ops are loaded in kernels and kept while there is room.

#include "src/vta/stream_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/vta/encoding.h"
#include "src/vta/pipeline.h"

namespace tilewright::vta {
namespace {

bool AreNeighbours(Engine a, Engine b) {
  return a != b && (a == Engine::kCompute || b == Engine::kCompute);
}

}  // namespace

Result<std::vector<Instruction>> Stream::Bind(const Design& design,
                                              std::span<const std::int64_t> addresses) const {
  if (addresses.size() != buffers.size()) {
    return InvalidArgument(
        fmt::format("{} addresses for a stream of {} buffers", addresses.size(), buffers.size()));
  }
  std::vector<Instruction> bound = instructions;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (buffer_of[i] == kNoBuffer) continue;
    auto& transfer = std::get<Transfer>(bound[i].operation);
    const auto buffer = static_cast<std::size_t>(buffer_of[i]);
    const std::int64_t element = design.ElementBytes(transfer.memory);
    const std::int64_t base = addresses[buffer] / element + transfer.dram_base;
    if (addresses[buffer] < 0 || addresses[buffer] % element != 0) {
      return InvalidArgument(fmt::format("{} at byte {}: expected a multiple of the {} bytes of {}",
                                         buffers[buffer].name, addresses[buffer], element,
                                         MemoryName(transfer.memory)));
    }
    if (base > UINT32_MAX) {
      return InvalidArgument(fmt::format("{} at byte {}: out of reach for instruction {}",
                                         buffers[buffer].name, addresses[buffer], i));
    }
    transfer.dram_base = static_cast<std::uint32_t>(base);
  }
  return bound;
}

std::vector<std::byte> Stream::UopBytes() const {
  std::vector<std::byte> bytes;
  bytes.reserve(uops.size() * kUopBytes);
  for (const std::uint32_t word : uops) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<std::byte>((word >> shift) & 0xff));
    }
  }
  return bytes;
}

StreamBuilder::StreamBuilder(const Design& design) : design_(design) {
  stream_.buffers.push_back({"micro-ops", false});
}

std::int32_t StreamBuilder::AddBuffer(std::string name, bool writable) {
  stream_.buffers.push_back({std::move(name), writable});
  return static_cast<std::int32_t>(stream_.buffers.size()) - 1;
}

std::int32_t StreamBuilder::AddConstant(std::string name, std::vector<std::byte> contents) {
  stream_.buffers.push_back({std::move(name), false, std::move(contents)});
  return static_cast<std::int32_t>(stream_.buffers.size()) - 1;
}

void StreamBuilder::Fail(std::string message) {
  if (status_.ok()) status_ = InvalidArgument(std::move(message));
}

Instruction& StreamBuilder::Emit(Engine engine, Instruction instruction, std::int32_t buffer) {
  Pending& pending = pending_[EngineIndex(engine)];
  instruction.tokens.pop_prev = std::exchange(pending.prev, false);
  instruction.tokens.pop_next = std::exchange(pending.next, false);
  const auto place = static_cast<std::int64_t>(stream_.instructions.size());
  if (auto fault = CheckInstruction(design_, instruction, place)) Fail(std::move(fault->message));
  stream_.instructions.push_back(std::move(instruction));
  stream_.buffer_of.push_back(buffer);
  return stream_.instructions.back();
}

void StreamBuilder::EmitIdle(Engine engine, bool push_prev, bool push_next) {
  Transfer transfer;
  transfer.is_store = engine == Engine::kStore;
  transfer.memory = engine == Engine::kLoad      ? Memory::kInp
                    : engine == Engine::kCompute ? Memory::kUop
                                                 : Memory::kOut;
  Instruction& idle = Emit(engine, {.tokens = {}, .operation = transfer}, Stream::kNoBuffer);
  idle.tokens.push_prev = push_prev;
  idle.tokens.push_next = push_next;
}

void StreamBuilder::FlushPops(Engine engine) {
  const Pending& pending = pending_[EngineIndex(engine)];
  if (pending.prev || pending.next) EmitIdle(engine, false, false);
}

void StreamBuilder::Pop(Engine from, Engine to) {
  TW_CHECK(AreNeighbours(from, to));
  bool Pending::*kind = from < to ? &Pending::prev : &Pending::next;
  if (pending_[EngineIndex(to)].*kind) FlushPops(to);
  pending_[EngineIndex(to)].*kind = true;
}

void StreamBuilder::Push(Engine from, Engine to) {
  TW_CHECK(AreNeighbours(from, to));
  FlushPops(from);
  bool Tokens::*kind = from < to ? &Tokens::push_next : &Tokens::push_prev;
  if (!stream_.instructions.empty()) {
    // Idle loads never get one, idle stores do.
    Instruction& last = stream_.instructions.back();
    const bool may_carry = !last.IsIdle() || last.engine() == Engine::kStore;
    if (may_carry && last.engine() == from && !(last.tokens.*kind)) {
      last.tokens.*kind = true;
      return;
    }
  }
  EmitIdle(from, from > to, from < to);
}

void StreamBuilder::Append(const Transfer& transfer, std::int32_t buffer) {
  TW_CHECK(buffer > 0 && buffer < static_cast<std::int32_t>(stream_.buffers.size()));
  const Instruction instruction = {.tokens = {}, .operation = transfer};
  Emit(instruction.engine(), instruction, buffer);
}

std::int32_t StreamBuilder::AddKernel(std::span<const Uop> uops) {
  const auto id = static_cast<std::int32_t>(kernels_.size());
  const Encoding encoding(design_);
  if (uops.empty() || static_cast<std::int64_t>(uops.size()) > design_.UsableUops()) {
    Fail(fmt::format("kernel {} has {} micro-ops, expected 1 to {}", id, uops.size(),
                     design_.UsableUops()));
  }
  kernels_.push_back(
      {static_cast<std::int64_t>(stream_.uops.size()), static_cast<std::int64_t>(uops.size()), -1});
  for (std::size_t i = 0; i < uops.size(); ++i) {
    const auto word = encoding.Encode(uops[i]);
    if (!word.ok()) Fail(fmt::format("kernel {}, micro-op {}: {}", id, i, word.status().message()));
    for (std::size_t j = i >= kHazardDistance - 1 ? i + 1 - kHazardDistance : 0; j < i; ++j) {
      if (uops[j].dst != uops[i].dst) continue;
      Fail(
          fmt::format("kernel {}: micro-ops {} and {} both update ACC {}, expected {} places "
                      "between",
                      id, j, i, uops[i].dst, kHazardDistance - 1));
    }
    stream_.uops.push_back(word.ok() ? *word : 0);
  }
  return id;
}

void StreamBuilder::MakeResident(Kernel& kernel) {
  if (kernel.sram >= 0) return;
  std::int64_t begin = uop_end_;
  if (begin + kernel.size > design_.UsableUops()) begin = 0;  // restart at the beginning
  const std::int64_t end = begin + kernel.size;
  std::erase_if(resident_, [&](std::int32_t id) {
    Kernel& other = kernels_[static_cast<std::size_t>(id)];
    const bool overlaps = other.sram < end && begin < other.sram + other.size;
    if (overlaps) other.sram = -1;
    return overlaps;
  });
  kernel.sram = begin;
  uop_end_ = end;
  resident_.push_back(static_cast<std::int32_t>(&kernel - kernels_.data()));
  LoadUops(begin, kernel.first, kernel.size);
}

void StreamBuilder::LoadUops(std::int64_t sram, std::int64_t first, std::int64_t count) {
  Transfer load;
  load.memory = Memory::kUop;
  load.sram_base = static_cast<std::uint32_t>(sram);
  load.dram_base = static_cast<std::uint32_t>(first);
  load.y_size = 1;
  load.x_size = static_cast<std::uint32_t>(count);
  load.x_stride = load.x_size;
  Emit(Engine::kCompute, {.tokens = {}, .operation = load}, Stream::kUopBuffer);
}

void StreamBuilder::LoadKernels() {
  const auto count = static_cast<std::int64_t>(stream_.uops.size());
  if (count > design_.UsableUops()) {
    Fail(fmt::format("{} micro-ops of all kernels, expected at most {}", count,
                     design_.UsableUops()));
  }
  if (count == 0 || !status_.ok()) return;
  // They are consecutive in DRAM, and will be on the chip.
  resident_.clear();
  for (Kernel& kernel : kernels_) {
    kernel.sram = kernel.first;
    resident_.push_back(static_cast<std::int32_t>(&kernel - kernels_.data()));
  }
  uop_end_ = count;
  LoadUops(0, 0, count);
}

template <typename Operation>
void StreamBuilder::AppendLoop(Operation operation, std::int32_t kernel) {
  TW_CHECK(kernel >= 0 && kernel < static_cast<std::int32_t>(kernels_.size()));
  if (!status_.ok()) return;  // do not load an invalid kernel
  Kernel& of = kernels_[static_cast<std::size_t>(kernel)];
  MakeResident(of);
  operation.loop.uop_begin = static_cast<std::uint32_t>(of.sram);
  operation.loop.uop_end = static_cast<std::uint32_t>(of.sram + of.size);
  Emit(Engine::kCompute, {.tokens = {}, .operation = operation}, Stream::kNoBuffer);
}

void StreamBuilder::Append(Gemm gemm, std::int32_t kernel) { AppendLoop(gemm, kernel); }
void StreamBuilder::Append(Alu alu, std::int32_t kernel) { AppendLoop(alu, kernel); }

Result<Stream> StreamBuilder::Finish() && {
  Push(Engine::kStore, Engine::kCompute);
  Push(Engine::kLoad, Engine::kCompute);
  Pop(Engine::kStore, Engine::kCompute);
  Pop(Engine::kLoad, Engine::kCompute);
  FlushPops(Engine::kCompute);
  Emit(Engine::kCompute, {.tokens = {}, .operation = vta::Finish()}, Stream::kNoBuffer);
  TW_RETURN_IF_ERROR(status_);
  const Encoding encoding(design_);
  for (std::size_t i = 0; i < stream_.instructions.size(); ++i) {
    const auto words = encoding.Encode(stream_.instructions[i]);
    if (!words.ok()) {
      return words.status().WithContext(
          Describe(static_cast<std::int64_t>(i), stream_.instructions[i]));
    }
  }
  return std::move(stream_);
}

Result<std::vector<Instruction>> Place(const Design& design, const Stream& stream, Dram& dram,
                                       std::span<const std::int64_t> addresses) {
  std::vector<std::int64_t> all = {dram.Allocate("micro-ops", stream.UopBytes(), false)};
  auto next = addresses.begin();
  for (const Stream::Buffer& buffer : std::span(stream.buffers).subspan(1)) {
    if (!buffer.contents.empty()) {
      all.push_back(dram.Allocate(buffer.name, buffer.contents, false));
    } else if (next != addresses.end()) {
      all.push_back(*next++);
    }
  }
  all.insert(all.end(), next, addresses.end());  // Bind reports surplus addresses
  return stream.Bind(design, all);
}

}  // namespace tilewright::vta
