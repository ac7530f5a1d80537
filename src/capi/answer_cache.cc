#include "src/capi/answer_cache.h"

#include <functional>
#include <utility>

#include "src/base/hash.h"

namespace tilewright::capi {

bool AnswerCache::Equal::Same(const LookupRequest& a, std::string_view text, const Key& b) {
  return a.target[0] == b.request.target[0] && a.target[1] == b.request.target[1] &&
         a.accept == b.request.accept && a.rule == b.request.rule &&
         a.spelling == b.request.spelling && text == b.text;
}

std::size_t AnswerCache::HashOf(const LookupRequest& request) {
  const std::uint64_t rest = request.target[0] ^ (std::uint64_t{request.accept} << 32) ^
                             (std::uint64_t{request.rule} << 8) ^
                             static_cast<std::uint64_t>(request.spelling);
  return Mix64(std::hash<std::string_view>()(request.text) ^ rest);
}

AnswerPtr AnswerCache::Find(const LookupRequest& request, std::uint64_t generation) {
  const View view{HashOf(request), &request};
  Shard& shard = ShardOf(view.hash);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.entries.find(view);
  if (found == shard.entries.end() || found->second.generation < generation) return nullptr;
  return Share(found->second.answer);
}

// Reserve everything now: otherwise rehashing would delay one query in a hundred.
AnswerCache::AnswerCache() {
  for (Shard& shard : shards_) {
    shard.entries.reserve(kMaxPerShard);
    shard.oldest_first.reserve(kMaxPerShard);
  }
}

void AnswerCache::Keep(const LookupRequest& request, std::uint64_t generation, AnswerPtr answer) {
  Key key{HashOf(request), request, std::string(request.text)};
  key.request.text = {};
  Shard& shard = ShardOf(key.hash);
  AnswerPtr gone;  // freed after the lock
  const std::lock_guard lock(shard.mutex);
  const auto [at, added] = shard.entries.try_emplace(std::move(key));
  gone = std::exchange(at->second.answer, std::move(answer));
  at->second.generation = generation;
  if (!added) return;
  if (shard.oldest_first.size() < kMaxPerShard) {
    shard.oldest_first.push_back(&at->first);
    return;
  }
  const Key*& oldest = shard.oldest_first[shard.next];
  shard.next = (shard.next + 1) % kMaxPerShard;
  const auto old = shard.entries.find(*oldest);
  gone = std::move(old->second.answer);
  shard.entries.erase(old);
  oldest = &at->first;
}

}  // namespace tilewright::capi
