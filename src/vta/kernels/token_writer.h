#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "src/base/status.h"
#include "src/vta/stream_builder.h"

namespace tilewright::vta {

/// Entries [begin, begin + size) of an on-chip memory.
struct EntryRange {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

/// Writer of a stream in program order that places the tokens itself.
///
/// Every instruction states the entries that it reads and writes. An instruction that has to wait
/// for another engine waits only for the last conflicting instruction. There is one token for each
/// wait that no earlier wait implies, so no token remains. The first instruction loads all micro-op
/// kernels. Dependences through DRAM are not tracked: no buffer may be both loaded and stored.
class TokenWriter {
 public:
  explicit TokenWriter(const Design& design);

  /// Like StreamBuilder's. All kernels together must fit the micro-op memory.
  std::int32_t AddBuffer(std::string name, bool writable);
  std::int32_t AddConstant(std::string name, std::vector<std::byte> contents);
  std::int32_t AddKernel(std::span<const Uop> uops);

  void Append(const Transfer& transfer, std::int32_t buffer);
  /// Appends a GEMM. acc: written; inp, wgt: read.
  void Append(const Gemm& gemm, std::int32_t kernel, EntryRange acc, EntryRange inp,
              EntryRange wgt);
  /// Appends an ALU operation. acc: written.
  void Append(const Alu& alu, std::int32_t kernel, EntryRange acc);

  /// Ends the launch and returns the stream. The writer must not be used afterwards.
  /// Errors: those of StreamBuilder.
  Result<Stream> Finish() &&;

 private:
  struct Entry {
    std::variant<Transfer, Gemm, Alu> operation;
    std::int32_t source = 0;  // buffer or kernel
    Engine engine = Engine::kCompute;
    Tokens tokens;
  };
  /// Last instruction that wrote, and last one that read, each entry of a memory; -1: none.
  struct AccessHistory {
    Engine writer, reader;
    std::vector<std::int32_t> written, read;
  };
  /// Per engine: last instruction that the next instruction has to wait for; -1: none.
  using Waits = std::array<std::int32_t, kEngineCount>;

  AccessHistory* HistoryOf(Memory memory);
  void NoteRead(AccessHistory& memo, EntryRange range, Waits& waits) const;
  void NoteWrite(AccessHistory& memo, EntryRange range, Waits& waits) const;
  void Add(Entry entry, const Waits& waits);

  StreamBuilder builder_;
  std::vector<Entry> entries_;
  AccessHistory inp_, wgt_, acc_;
  std::array<Waits, kEngineCount>
      waited_;  // [waiting engine][other engine]: last instruction that was waited for
};

}  // namespace tilewright::vta
