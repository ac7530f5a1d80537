#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "include/tilewright/tilewright.h"
#include "search/ask/ask_tell.h"
#include "src/capi/fork_gate.h"
#include "src/capi/target.h"

/// Open task of a calling program.
struct tw_tuning final : public tilewright::capi::ConnectionOwner {
  tw_tuning(std::unique_ptr<tilewright::search::AskTell> opened, tw_target records_target)
      : search(std::move(opened)),
        target(std::move(records_target)),
        key(search->task().workload.Key()) {}
  void CloseConnections() override { search->CloseConnections(); }

  const std::unique_ptr<tilewright::search::AskTell> search;
  const tw_target target;
  const std::string key;
};

namespace tilewright::capi {

/// Longest text of a caller, with its end.
inline constexpr std::size_t kMaxCallerText = std::size_t{1} << 20;

/// Returns a text of a caller. what: its name in messages.
/// Errors: kInvalidArgument if it is null, too long or not UTF-8.
Result<std::string> CallerText(const char* text, const char* what);

/// Converts a result to an answer as of a command (docs/howto-open.md#answers).
/// Errors: kInvalidArgument naming the member.
Result<std::string> AnswerOf(const tw_measurement* result);

}  // namespace tilewright::capi
