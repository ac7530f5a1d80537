#include "src/vta/kernels/token_writer.h"

#include <algorithm>
#include <utility>

namespace tilewright::vta {
namespace {

std::span<std::int32_t> Part(std::vector<std::int32_t>& all, EntryRange range) {
  TW_CHECK(range.begin >= 0 && range.begin + range.size <= static_cast<std::int64_t>(all.size()));
  return std::span(all).subspan(static_cast<std::size_t>(range.begin),
                                static_cast<std::size_t>(range.size));
}

/// Returns the largest of some numbers from -1 on. A local maximum lets the compiler vectorize the
/// loop: a search of a space builds hundreds of thousands of streams.
std::int32_t Latest(std::span<const std::int32_t> numbers) {
  std::int32_t latest = -1;
  for (const std::int32_t number : numbers) latest = std::max(latest, number);
  return latest;
}

}  // namespace

TokenWriter::TokenWriter(const Design& design) : builder_(design) {
  const auto memo = [&](Memory memory, Engine writer, Engine reader) {
    const auto depth = static_cast<std::size_t>(design.Depth(memory));
    return AccessHistory{writer, reader, std::vector<std::int32_t>(depth, -1),
                         std::vector<std::int32_t>(depth, -1)};
  };
  inp_ = memo(Memory::kInp, Engine::kLoad, Engine::kCompute);
  wgt_ = memo(Memory::kWgt, Engine::kLoad, Engine::kCompute);
  acc_ = memo(Memory::kAcc, Engine::kCompute, Engine::kStore);
  for (Waits& waits : waited_) waits.fill(-1);
}

std::int32_t TokenWriter::AddBuffer(std::string name, bool writable) {
  return builder_.AddBuffer(std::move(name), writable);
}

std::int32_t TokenWriter::AddConstant(std::string name, std::vector<std::byte> contents) {
  return builder_.AddConstant(std::move(name), std::move(contents));
}

std::int32_t TokenWriter::AddKernel(std::span<const Uop> uops) { return builder_.AddKernel(uops); }

TokenWriter::AccessHistory* TokenWriter::HistoryOf(Memory memory) {
  switch (memory) {
    case Memory::kInp:
      return &inp_;
    case Memory::kWgt:
      return &wgt_;
    case Memory::kUop:
      return nullptr;  // private to the compute engine
    default:
      return &acc_;
  }
}

// Records a read by the memory's reading engine.
void TokenWriter::NoteRead(AccessHistory& memo, EntryRange range, Waits& waits) const {
  std::int32_t& wait = waits[EngineIndex(memo.writer)];
  wait = std::max(wait, Latest(Part(memo.written, range)));
  std::ranges::fill(Part(memo.read, range), static_cast<std::int32_t>(entries_.size()));
}

void TokenWriter::NoteWrite(AccessHistory& memo, EntryRange range, Waits& waits) const {
  std::int32_t& wait = waits[EngineIndex(memo.reader)];
  wait = std::max(wait, Latest(Part(memo.read, range)));
  std::ranges::fill(Part(memo.written, range), static_cast<std::int32_t>(entries_.size()));
}

void TokenWriter::Add(Entry entry, const Waits& waits) {
  for (const Engine other : {Engine::kLoad, Engine::kCompute, Engine::kStore}) {
    const std::int32_t producer = waits[EngineIndex(other)];
    std::int32_t& waited = waited_[EngineIndex(entry.engine)][EngineIndex(other)];
    if (producer <= waited) continue;
    waited = producer;
    Tokens& pushes = entries_[static_cast<std::size_t>(producer)].tokens;
    (entry.engine > other ? pushes.push_next : pushes.push_prev) = true;
    (entry.engine > other ? entry.tokens.pop_prev : entry.tokens.pop_next) = true;
  }
  entries_.push_back(std::move(entry));
}

void TokenWriter::Append(const Transfer& transfer, std::int32_t buffer) {
  Waits waits;
  waits.fill(-1);
  const EntryRange range = {transfer.sram_base, transfer.SramElements()};
  if (AccessHistory* memo = HistoryOf(transfer.memory)) {
    transfer.is_store ? NoteRead(*memo, range, waits) : NoteWrite(*memo, range, waits);
  }
  Entry entry = {transfer, buffer, {}, {}};
  entry.engine = Instruction{.tokens = {}, .operation = transfer}.engine();
  Add(std::move(entry), waits);
}

void TokenWriter::Append(const Gemm& gemm, std::int32_t kernel, EntryRange acc, EntryRange inp,
                         EntryRange wgt) {
  Waits waits;
  waits.fill(-1);
  NoteWrite(acc_, acc, waits);
  NoteRead(inp_, inp, waits);
  NoteRead(wgt_, wgt, waits);
  Add({gemm, kernel, Engine::kCompute, {}}, waits);
}

void TokenWriter::Append(const Alu& alu, std::int32_t kernel, EntryRange acc) {
  Waits waits;
  waits.fill(-1);
  NoteWrite(acc_, acc, waits);
  Add({alu, kernel, Engine::kCompute, {}}, waits);
}

Result<Stream> TokenWriter::Finish() && {
  builder_.LoadKernels();
  for (const Entry& entry : entries_) {
    // Only the compute engine has a neighbour on both sides.
    const bool compute = entry.engine == Engine::kCompute;
    const Engine prev = compute ? Engine::kLoad : Engine::kCompute;
    const Engine next = compute ? Engine::kStore : Engine::kCompute;
    if (entry.tokens.pop_prev) builder_.Pop(prev, entry.engine);
    if (entry.tokens.pop_next) builder_.Pop(next, entry.engine);
    std::visit([&](const auto& operation) { builder_.Append(operation, entry.source); },
               entry.operation);
    if (entry.tokens.push_prev) builder_.Push(entry.engine, prev);
    if (entry.tokens.push_next) builder_.Push(entry.engine, next);
  }
  return std::move(builder_).Finish();
}

}  // namespace tilewright::vta
