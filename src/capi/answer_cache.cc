#include "src/capi/answer_cache.h"

#include <functional>
#include <utility>

#include "src/base/hash.h"

namespace tilewright::capi {

bool AnswerCache::Equal::Same(const Question& a, std::string_view text, const Key& b) {
  return a.target[0] == b.question.target[0] && a.target[1] == b.question.target[1] &&
         a.accept == b.question.accept && a.rule == b.question.rule &&
         a.spelling == b.question.spelling && text == b.text;
}

std::size_t AnswerCache::HashOf(const Question& question) {
  const std::uint64_t rest = question.target[0] ^ (std::uint64_t{question.accept} << 32) ^
                             (std::uint64_t{question.rule} << 8) ^
                             static_cast<std::uint64_t>(question.spelling);
  return Mix64(std::hash<std::string_view>()(question.text) ^ rest);
}

AnswerPtr AnswerCache::Find(const Question& question, std::uint64_t generation) {
  const View view{HashOf(question), &question};
  Shard& shard = ShardOf(view.hash);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.entries.find(view);
  if (found == shard.entries.end() || found->second.generation < generation) return nullptr;
  return Share(found->second.answer);
}

void AnswerCache::Keep(const Question& question, std::uint64_t generation, AnswerPtr answer) {
  Key key{HashOf(question), question, std::string(question.text)};
  key.question.text = {};
  Shard& shard = ShardOf(key.hash);
  const std::lock_guard lock(shard.mutex);
  // A program that asks for so many different things gains little from old answers.
  if (shard.entries.size() >= kMostPerShard) shard.entries.clear();
  shard.entries.insert_or_assign(std::move(key), Entry{generation, std::move(answer)});
}

}  // namespace tilewright::capi
