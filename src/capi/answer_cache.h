#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/capi/answer.h"

namespace tilewright::capi {

/// Cache of answers by the text of the query, so that a repeated query needs neither parsing nor
/// reading.
/// Thread-safe. An answer is found only while the catalog's generation is the one that it was
/// created in.
class AnswerCache {
 public:
  AnswerCache();
  /// Query as received. Two spellings of one workload are two queries.
  struct LookupRequest {
    enum class Spelling : std::uint8_t { kKey, kTuple, kOperator, kTask };
    std::uint64_t target[2];  ///< hash of target and device
    std::uint32_t accept, rule;
    Spelling spelling;
    std::string_view text;
  };

  /// Returns null if there is none.
  AnswerPtr Find(const LookupRequest& request, std::uint64_t generation);
  /// Adds an answer. generation: the catalog's, read before the answer was created.
  void Keep(const LookupRequest& request, std::uint64_t generation, AnswerPtr answer);

 private:
  // 32 x 512: a network has about a hundred tasks; an answer takes about 4 KiB.
  static constexpr std::size_t kShards = 32;
  static constexpr std::size_t kMaxPerShard = 512;

  struct Key {
    std::size_t hash;
    LookupRequest request;  // its text refers to `text` once it is in the map
    std::string text;
  };
  struct View {
    std::size_t hash;
    const LookupRequest* request;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const { return key.hash; }
    std::size_t operator()(const View& view) const { return view.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Key& a, const Key& b) const { return Same(a.request, a.text, b); }
    bool operator()(const View& a, const Key& b) const {
      return Same(*a.request, a.request->text, b);
    }
    bool operator()(const Key& a, const View& b) const { return (*this)(b, a); }
    static bool Same(const LookupRequest& a, std::string_view text, const Key& b);
  };
  struct Entry {
    std::uint64_t generation;
    AnswerPtr answer;
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<Key, Entry, Hash, Equal> entries;
    std::vector<const Key*> oldest_first;  // a ring buffer starting at `next` once it is full
    std::size_t next = 0;
  };

  static std::size_t HashOf(const LookupRequest& request);
  Shard& ShardOf(std::size_t hash) { return shards_[(hash >> 32) % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace tilewright::capi
