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

/// Writes a stream in program order and places the tokens by itself.
///
/// Every instruction says which entries it reads and writes. Whoever has to wait for another
/// engine waits for the last instruction in conflict, and for it alone: there is one token for each
/// wait that no earlier one implies, so none is ever left. All micro-op kernels are loaded once, by
/// the first instruction. What goes through DRAM is not looked at: no buffer may be both loaded
/// and stored.
class TokenWriter {
 public:
  explicit TokenWriter(const Design& design);

  /// As StreamBuilder's. All kernels together have to fit the micro-op memory.
  std::int32_t AddBuffer(std::string name, bool writable);
  std::int32_t AddConstant(std::string name, std::vector<std::byte> contents);
  std::int32_t AddKernel(std::span<const Uop> uops);

  void Append(const Transfer& transfer, std::int32_t buffer);
  /// acc: what is written; inp, wgt: what is read.
  void Append(const Gemm& gemm, std::int32_t kernel, EntryRange acc, EntryRange inp,
              EntryRange wgt);
  /// acc: what is written.
  void Append(const Alu& alu, std::int32_t kernel, EntryRange acc);

  /// Ends the launch and returns the stream. The writer is then spent.
  /// Errors: those of StreamBuilder.
  Result<Stream> Finish() &&;

 private:
  struct Entry {
    std::variant<Transfer, Gemm, Alu> operation;
    std::int32_t source = 0;  // the buffer or the kernel
    Engine engine = Engine::kCompute;
    Tokens tokens;
  };
  /// Which instruction wrote and which read each entry of a memory last; -1: none.
  struct AccessHistory {
    Engine writer, reader;
    std::vector<std::int32_t> written, read;
  };
  /// For each engine the last instruction that the next one has to wait for; -1: none.
  using Waits = std::array<std::int32_t, kEngineCount>;

  AccessHistory* HistoryOf(Memory memory);
  void NoteRead(AccessHistory& memo, EntryRange range, Waits& waits) const;
  void NoteWrite(AccessHistory& memo, EntryRange range, Waits& waits) const;
  void Add(Entry entry, const Waits& waits);

  StreamBuilder builder_;
  std::vector<Entry> entries_;
  AccessHistory inp_, wgt_, acc_;
  std::array<Waits, kEngineCount> waited_;  // [who][for whom]: up to which instruction already
};

}  // namespace tilewright::vta
