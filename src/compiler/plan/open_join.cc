#include "src/compiler/plan/open_join.h"

#include <algorithm>
#include <utility>

#include "src/compiler/plan/open_attention.h"
#include "src/ir/print.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/fixed_schedule.h"
#include "src/templates/registry.h"

namespace tilewright {
namespace {

/// Programs of one group for several numbers of positions.
class JoinPrograms {
 public:
  JoinPrograms(const SequenceNetwork& network, const FusedGroup& group,
               const std::vector<GroupInput>& inputs, const Target& target)
      : network_(network), group_(group), inputs_(inputs), serial_(target) {
    serial_.SetOption("num-threads", "1");
  }

  /// plain: without vectors, whose tails depend on the number of positions along them.
  Result<Program> At(std::int64_t positions, bool plain) const {
    TW_ASSIGN_OR_RETURN(auto compute, DefineForLength(network_, group_, inputs_, positions));
    const FlatChoices numbers{.lanes = 1, .rows = false, .across = false};
    TW_ASSIGN_OR_RETURN(const auto schedule,
                        plain ? FlatSchedule(std::move(compute), serial_, numbers)
                              : FixedSchedule(std::move(compute), serial_));
    TW_ASSIGN_OR_RETURN(auto program, Lower(schedule, "kernel"));
    program.parameters.insert(program.parameters.begin(), length_);
    return program;
  }

 private:
  const SequenceNetwork& network_;
  const FusedGroup& group_;
  const std::vector<GroupInput>& inputs_;
  Target serial_;
  const Buffer length_ = MakeBuffer("length", kInt64, {1});
};

Result<Program> Joined(const JoinPrograms& programs, std::int64_t largest, bool plain) {
  // Shorter loops are unrolled or vectorized in other ways. No other extent is as large by chance
  // in all of them.
  constexpr std::int64_t kFew = 101, kChecked = 3, kMany = 401;
  const std::int64_t most = std::max(kMany, largest);
  TW_ASSIGN_OR_RETURN(const auto many, programs.At(most, plain));
  TW_ASSIGN_OR_RETURN(const auto few, programs.At(kFew, plain));
  TW_ASSIGN_OR_RETURN(auto joined, OpenBlocks(few, kFew, many, most, 1));
  const std::string text = ToString(joined);
  for (std::int64_t length = kFew + 1; length <= kFew + kChecked; ++length) {
    TW_ASSIGN_OR_RETURN(const auto other, programs.At(length, plain));
    TW_ASSIGN_OR_RETURN(const auto same, OpenBlocks(other, length, many, most, 1));
    if (ToString(same) != text) return Unsupported("has kernels of no linear extents");
  }
  return joined;
}

}  // namespace

Result<Program> OpenJoin(const SequenceNetwork& network, const FusedGroup& group,
                         const std::vector<GroupInput>& inputs, const Target& target) {
  const JoinPrograms programs(network, group, inputs, target);
  auto joined = Joined(programs, network.range.most, /*plain=*/false);
  if (joined.ok() || joined.status().code() != StatusCode::kUnsupported) return joined;
  auto plain = Joined(programs, network.range.most, /*plain=*/true);
  return plain.ok() ? std::move(plain) : std::move(joined);
}

}  // namespace tilewright
