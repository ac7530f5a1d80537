#pragma once

#include <cstdint>
#include <vector>

#include "src/vta/pipeline.h"

namespace tilewright::vta {

/// Last writer and last readers of each entry of a memory. One engine writes, up to two others
/// read.
///
/// An access is in order if the tokens order every conflicting access of another engine before it
/// (Issue::done) and that access also precedes it in the stream. Engines work in order, so the last
/// access of each is sufficient.
class Shadow {
 public:
  static constexpr std::int32_t kBefore = -1;  ///< written before the launch
  static constexpr std::int32_t kNever = -2;

  Shadow(std::int64_t entries, Engine writer, std::vector<Engine> readers, std::int32_t written)
      : writer_(writer), writers_(static_cast<std::size_t>(entries), written) {
    for (const Engine reader : readers) {
      readers_.push_back({reader, std::vector(static_cast<std::size_t>(entries), kBefore)});
    }
  }

  /// Records that `issue` reads `entry`. Returns false if that is out of order or if nothing was
  /// written.
  bool Read(std::int64_t entry, const Issue& issue) {
    const std::int32_t written = writers_[static_cast<std::size_t>(entry)];
    if (issue.engine == writer_) return written != kNever;
    for (Reader& reader : readers_) {
      if (reader.engine == issue.engine) {
        reader.last[static_cast<std::size_t>(entry)] = issue.instruction;
      }
    }
    return written != kNever && InOrder(written, writer_, issue);
  }

  /// Records that `issue` writes `entry`. Returns false if that is out of order.
  bool Write(std::int64_t entry, const Issue& issue) {
    writers_[static_cast<std::size_t>(entry)] = issue.instruction;
    for (const Reader& reader : readers_) {
      if (!InOrder(reader.last[static_cast<std::size_t>(entry)], reader.engine, issue))
        return false;
    }
    return true;
  }

  Engine writer() const { return writer_; }
  std::int32_t LastWrite(std::int64_t entry) const {
    return writers_[static_cast<std::size_t>(entry)];
  }
  /// Returns the read of `entry` that is out of order with a write of `issue`, and its engine.
  std::int32_t LateRead(std::int64_t entry, const Issue& issue, Engine& engine) const {
    for (const Reader& reader : readers_) {
      const std::int32_t read = reader.last[static_cast<std::size_t>(entry)];
      engine = reader.engine;
      if (!InOrder(read, engine, issue)) return read;
    }
    return kBefore;
  }

 private:
  struct Reader {
    Engine engine;
    std::vector<std::int32_t> last;
  };
  static bool InOrder(std::int32_t earlier, Engine engine, const Issue& issue) {
    return issue.done[static_cast<std::size_t>(engine)] >= earlier && earlier < issue.instruction;
  }

  Engine writer_;
  std::vector<std::int32_t> writers_;
  std::vector<Reader> readers_;
};

}  // namespace tilewright::vta
