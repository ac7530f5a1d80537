#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "records/autotvm/log_line.h"
#include "src/base/hash.h"

namespace tilewright::records {

/// 128-bit identity of an imported record: hash of the target's canonical text, the task, the
/// entities (split factors except the first) and the result.
class LineDigest {
 public:
  void Add(std::uint64_t word) {
    words_[0] = Mix64(words_[0] ^ word);
    words_[1] = Mix64(words_[1] + (word ^ 0xA4093822299F31D0ULL)) ^ (words_[0] >> 32);
  }
  void Add(std::string_view text) {
    Add(text.size());
    while (text.size() >= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data(), sizeof(word));
      Add(word);
      text.remove_prefix(sizeof(word));
    }
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), text.size());
    Add(word);
  }
  void Add(double number) {
    std::uint64_t word = 0;
    std::memcpy(&word, &number, sizeof(word));
    Add(word);
  }
  /// Adds the result of a line. same_config: its entities in Style::kSameConfig.
  void AddRecord(std::string_view tuple, std::string_view same_config, const LogLine& line) {
    Add(tuple);
    Add(same_config);
    for (const double one : line.costs) Add(one);
    Add(static_cast<std::uint64_t>(line.error));
    Add(line.all_cost);
    Add(line.timestamp);
  }
  /// Returns the bytes to store.
  std::string_view bytes() const { return {reinterpret_cast<const char*>(words_), sizeof(words_)}; }

 private:
  std::uint64_t words_[2] = {0x243F6A8885A308D3ULL, 0x13198A2E03707344ULL};
};

}  // namespace tilewright::records
