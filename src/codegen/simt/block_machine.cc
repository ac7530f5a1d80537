// Runs the threads of a block as fibers, from barrier to barrier, and records for each byte of
// memory which thread accessed it since the last one, to detect races.

#include "src/codegen/simt/block_machine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>

#include "src/codegen/simt/matrix_product.h"

namespace tilewright::simt {
namespace {

constexpr std::size_t kWarp = 32;

}  // namespace

int BlockMachine::AddMemory(Memory memory) {
  const auto element_bytes = static_cast<std::uint64_t>(memory.element_bytes);
  TW_CHECK(std::has_single_bit(element_bytes));
  Known known{std::move(memory), std::countr_zero(element_bytes), {}};
  known.elements.resize(static_cast<std::size_t>(known.memory.bytes / known.memory.element_bytes));
  memories_.push_back(std::move(known));
  return static_cast<int>(memories_.size()) - 1;
}

std::int32_t BlockMachine::Index(std::int32_t which) const {
  if (which >= 3) return block_[static_cast<std::size_t>(which - 3)];
  const std::int64_t x = launch_->block[0], y = launch_->block[1];
  const std::int64_t index = which == 0   ? thread_ % x
                             : which == 1 ? thread_ / x % y
                                          : thread_ / (x * y);
  return static_cast<std::int32_t>(index);
}

std::string BlockMachine::ThreadText(int thread) const {
  const std::int64_t x = launch_->block[0], y = launch_->block[1];
  const auto triple = [](std::int64_t a, std::int64_t b, std::int64_t c) {
    return "(" + std::to_string(a) + "," + std::to_string(b) + "," + std::to_string(c) + ")";
  };
  return "thread " + triple(thread % x, thread / x % y, thread / (x * y)) + " of block " +
         triple(block_[0], block_[1], block_[2]);
}

void BlockMachine::Fault(const std::string& reason) {
  status_ = Corrupt(launch_->name + ": " + ThreadText(thread_) + " " + reason);
}

void BlockMachine::Barrier(std::int32_t which) {
  threads_[static_cast<std::size_t>(thread_)].barrier = which;
  Leave();
}

void BlockMachine::MatrixProduct(std::int32_t product, std::uint32_t* words) {
  Thread& thread = threads_[static_cast<std::size_t>(thread_)];
  thread.product = product;
  thread.words = words;
  Leave();
}

int BlockMachine::FindMemory(const void* address) const {
  const auto found = std::ranges::find_if(memories_, [&](const Known& known) {
    return address >= known.memory.base && address < known.memory.base + known.memory.bytes;
  });
  return found == memories_.end() ? -1 : static_cast<int>(found - memories_.begin());
}

void BlockMachine::Access(std::int32_t memory, const void* address, std::int32_t bytes,
                          std::int32_t write) {
  CheckAccess(memory, address, bytes, write != 0);
  // The stack is abandoned, so objects on it must not own memory.
  if (!status_.ok()) Leave();
}

void BlockMachine::CheckAligned(int memory, const void* address, std::int64_t bytes) {
  const Memory& known = memories_[static_cast<std::size_t>(memory)].memory;
  const std::int64_t offset = static_cast<const std::byte*>(address) - known.base;
  if (offset % bytes == 0) return;
  Fault("copies " + std::to_string(bytes) + " bytes at byte " + std::to_string(offset) + " of " +
        known.name + ", no multiple of them");
}

void BlockMachine::SetInFlight(const Copy& copy, bool in_flight) {
  Known& known = memories_[static_cast<std::size_t>(copy.memory)];
  const std::int64_t size = known.memory.element_bytes;
  const std::int64_t first = (copy.to - known.memory.base) >> known.element_shift;
  for (std::int64_t i = 0; i * size < copy.bytes; ++i) {
    known.elements[static_cast<std::size_t>(first + i)].in_flight = in_flight;
  }
}

void BlockMachine::BeginCopy(std::int32_t to_memory, void* to, std::int32_t from_memory,
                             const void* from, std::int32_t bytes, std::int32_t read) {
  Thread& thread = threads_[static_cast<std::size_t>(thread_)];
  if (to_memory < 0) to_memory = FindMemory(to);
  if (from_memory < 0) from_memory = FindMemory(from);
  CheckAccess(to_memory, to, bytes, true);
  if (status_.ok()) CheckAligned(to_memory, to, bytes);
  if (status_.ok() && read > 0) CheckAccess(from_memory, from, read, false);
  if (status_.ok() && read > 0) CheckAligned(from_memory, from, bytes);
  if (!status_.ok()) Leave();
  thread.copies.push_back({to_memory, static_cast<std::byte*>(to),
                           static_cast<const std::byte*>(from), bytes, read, thread.groups});
  SetInFlight(thread.copies.back(), true);
}

void BlockMachine::CommitCopies() { ++threads_[static_cast<std::size_t>(thread_)].groups; }

void BlockMachine::WaitForCopies(std::int32_t pending) {
  Thread& thread = threads_[static_cast<std::size_t>(thread_)];
  std::erase_if(thread.copies, [&](const Copy& copy) {
    if (copy.group >= thread.groups - pending) return false;
    const auto read = static_cast<std::size_t>(copy.read);
    std::memcpy(copy.to, copy.from, read);
    std::memset(copy.to + read, 0, static_cast<std::size_t>(copy.bytes) - read);
    SetInFlight(copy, false);
    CheckAccess(copy.memory, copy.to, copy.bytes, true);  // the write happens here
    return true;
  });
  if (!status_.ok()) Leave();
}

void BlockMachine::CheckAccess(int memory, const void* address, std::int64_t bytes, bool write) {
  if (memory < 0) memory = FindMemory(address);
  const auto verb = [&] { return std::string(write ? "writes " : "reads "); };
  if (memory < 0) return Fault(verb() + "outside of every buffer");
  Known& known = memories_[static_cast<std::size_t>(memory)];
  const std::int64_t offset = static_cast<const std::byte*>(address) - known.memory.base;
  if (offset < 0 || offset + bytes > known.memory.bytes) {
    return Fault(verb() + std::to_string(bytes) + " bytes at byte " + std::to_string(offset) +
                 " of " + known.memory.name + ", which has " + std::to_string(known.memory.bytes));
  }
  const std::int64_t last = (offset + bytes - 1) >> known.element_shift;
  for (std::int64_t element = offset >> known.element_shift; element <= last; ++element) {
    Touch(known, element, &known.elements[static_cast<std::size_t>(element)], write);
  }
}

void BlockMachine::Touch(const Known& known, std::int64_t element, ShadowCell* touched,
                         bool write) {
  const bool shared = known.memory.kind == Memory::Kind::kShared;
  const auto self = static_cast<std::uint16_t>(thread_);
  const auto fault = [&](const std::string& what) {
    Fault((write ? "writes" : "reads") + std::string(" element ") + std::to_string(element) +
          " of " + known.memory.name + ", " + what);
  };
  if (touched->in_flight) return fault("to which a copy is under way");
  // In another block of this launch, or in this block since the last barrier.
  const auto conflicts = [&](std::uint32_t when, bool other_thread) {
    if (!shared && when > launch_start_ && when <= block_start_) return true;
    return when == now_ && other_thread;
  };
  const auto who = [&](std::uint32_t when, std::uint16_t thread) {
    return when == now_ ? ThreadText(thread) : std::string("another block");
  };
  if (conflicts(touched->written, touched->writer != self)) {
    return fault("which " + who(touched->written, touched->writer) +
                 " has written without a barrier between");
  }
  if (write) {
    if (conflicts(touched->read, touched->many_readers || touched->reader != self)) {
      return fault("which " + who(touched->read, touched->reader) +
                   " has read without a barrier between");
    }
    touched->written = now_;
    touched->writer = self;
    return;
  }
  const bool fresh = shared ? touched->written <= block_start_ : touched->written == 0;
  if (known.memory.kind != Memory::Kind::kInput && fresh) return fault("which nobody has written");
  touched->many_readers =
      touched->read == now_ && (touched->many_readers || touched->reader != self);
  touched->read = now_;
  touched->reader = self;
}

void BlockMachine::RunThread(void* machine) {
  auto* self = static_cast<BlockMachine*>(machine);
  while (true) {
    self->kernel_(self->arguments_);
    Thread& thread = self->threads_[static_cast<std::size_t>(self->thread_)];
    thread.ended = true;
    if (!thread.copies.empty()) self->Fault("ends without waiting for its copies");
    self->Leave();
  }
}

void BlockMachine::MakeThreads() {
  threads_ = std::vector<Thread>(static_cast<std::size_t>(launch_->threads()));
  stacks_ = std::make_unique_for_overwrite<std::byte[]>(threads_.size() * kStackBytes);
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    threads_[t].fiber.Make(stacks_.get() + t * kStackBytes, kStackBytes, &RunThread, this);
  }
}

void BlockMachine::MultiplyOfWarp(std::size_t first) {
  const std::size_t end = std::min(first + kWarp, threads_.size());
  const int product = threads_[first].product;
  std::array<std::uint32_t*, kWarp> words{};
  bool together = product >= 0 && end == first + kWarp;
  for (std::size_t t = first; t < end; ++t) {
    together = together && threads_[t].product == product;
    words[t - first] = threads_[t].words;
    threads_[t].product = -1;
  }
  if (together) return MultiplyWarp(MmaIntrinsics()[static_cast<std::size_t>(product)], words);
  status_ = Corrupt(launch_->name + ": not all 32 threads of the warp of " +
                    ThreadText(static_cast<int>(first)) + " come to the same matrix product");
}

bool BlockMachine::MultiplyMatrices() {
  bool any = false;
  for (std::size_t first = 0; first < threads_.size() && status_.ok(); first += kWarp) {
    const auto warp = std::span(threads_).subspan(first, std::min(kWarp, threads_.size() - first));
    if (std::ranges::all_of(warp, [](const Thread& thread) { return thread.product < 0; }))
      continue;
    any = true;
    MultiplyOfWarp(first);
  }
  return any;
}

/// Called when no thread can continue: all have ended, or all wait at one barrier.
void BlockMachine::CheckArrivals() {
  const Thread& first = threads_.front();
  for (std::size_t t = 1; t < threads_.size(); ++t) {
    if (threads_[t].ended == first.ended && threads_[t].barrier == first.barrier) continue;
    status_ = Corrupt(launch_->name + ": " + ThreadText(0) + " and " +
                      ThreadText(static_cast<int>(t)) + " do not come to the same barriers");
    return;
  }
}

void BlockMachine::RunBlock() {
  constexpr int kPoison = 0xC5;
  block_start_ = now_++;
  for (const Known& known : memories_) {
    if (known.memory.kind != Memory::Kind::kShared) continue;
    std::memset(known.memory.base, kPoison, static_cast<std::size_t>(known.memory.bytes));
  }
  for (Thread& thread : threads_) {
    thread.ended = false;
    thread.barrier = thread.product = -1;
    thread.copies.clear();
    thread.groups = 0;
  }
  while (status_.ok() && !threads_.front().ended) {
    for (thread_ = 0; thread_ < static_cast<int>(threads_.size()) && status_.ok(); ++thread_) {
      Thread& thread = threads_[static_cast<std::size_t>(thread_)];
      if (thread.ended || thread.barrier >= 0) continue;
      Fiber::Switch(main_, thread.fiber);
    }
    // Warps continue after their products, which do not synchronize threads.
    if (status_.ok() && MultiplyMatrices()) continue;
    if (status_.ok()) CheckArrivals();
    for (Thread& thread : threads_) thread.barrier = -1;
    ++now_;
  }
}

Status BlockMachine::Run(const Launch& launch, Kernel kernel, void* const* arguments) {
  constexpr std::int64_t kMaxThreads = std::numeric_limits<std::uint16_t>::max();
  if (launch.threads() > kMaxThreads) {
    return InvalidArgument(std::to_string(launch.threads()) +
                           " threads per block, expected at most " + std::to_string(kMaxThreads));
  }
  launch_ = &launch;
  kernel_ = kernel;
  arguments_ = arguments;
  MakeThreads();
  launch_start_ = now_;
  status_ = Status();
  for (std::int64_t z = 0; z < launch.grid[2]; ++z) {
    for (std::int64_t y = 0; y < launch.grid[1]; ++y) {
      for (std::int64_t x = 0; x < launch.grid[0]; ++x) {
        block_ = {static_cast<std::int32_t>(x), static_cast<std::int32_t>(y),
                  static_cast<std::int32_t>(z)};
        RunBlock();
        TW_RETURN_IF_ERROR(status_);
      }
    }
  }
  return {};
}

}  // namespace tilewright::simt
