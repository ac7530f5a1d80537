// A plugin's template makes arbitrary calls with arbitrary arguments: the schedule is legal or
// rejected, and a legal one is lowered or rejected by lowering.

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "src/base/random.h"
#include "src/plugins/plugin_host.h"
#include "src/schedule/lower/lower.h"
#include "src/schedule/summary.h"

namespace tilewright::cli {
namespace {

class RandomCalls {
 public:
  RandomCalls(std::uint64_t seed, tw_schedule& schedule) : random_(seed), s_(&schedule) {}

  void Call() {
    const tw_host& tw = plugins::PluginHost();
    const tw_stage stage = Stage();
    const tw_loop loop = tw.leaf(s_, stage, Small(7));
    switch (random_.Below(20)) {
      case 0:
      case 1:
      case 2:
        return tw.split(s_, stage, loop, Number(), Small(2), nullptr, nullptr);
      case 3:
        return static_cast<void>(tw.fuse(s_, stage, loop, tw.leaf(s_, stage, Small(7))));
      case 4: {
        const std::array<tw_loop, 3> order = {loop, tw.leaf(s_, stage, Small(7)),
                                              tw.leaf(s_, stage, Small(7))};
        return tw.reorder(s_, stage, order.data(), 1 + Small(3));
      }
      case 5:
        return tw.parallel(s_, stage, loop);
      case 6:
        return tw.vectorize(s_, stage, loop);
      case 7:
        return tw.unroll(s_, stage, loop);
      case 8:
        return tw.bind(s_, stage, loop, Small(9) - 1);
      case 9:
        return tw.pragma(s_, stage, loop, "auto_unroll_max_step", Number());
      case 10:
        return tw.prefetch(s_, stage, "data", loop, Number());
      case 11:
        return tw.tensorize(s_, stage, loop, "dot");
      case 12: {
        const tw_stage consumer = Stage();
        return tw.compute_at(s_, stage, consumer, tw.leaf(s_, consumer, Small(7)));
      }
      case 13:
        return tw.compute_inline(s_, stage);
      case 14:
        return static_cast<void>(tw.cache_write(s_, stage, Small(4)));
      case 15:
        return static_cast<void>(tw.cache_read(s_, "data", Small(4), stage));
      case 16:
        return static_cast<void>(tw.rfactor(s_, stage, Small(4), Number()));
      case 17:
        return tw.set_memory(s_, stage, Small(4));
      case 18:
        return tw.skip_zero_taps(s_, stage);
      default:
        return Small(2) == 0 ? tw.pipeline(s_, stage, Small(5))
                             : tw.pad_rows(s_, stage, Number(), Number());
    }
  }

 private:
  std::int32_t Small(std::uint64_t below) {
    return static_cast<std::int32_t>(random_.Below(below));
  }
  tw_stage Stage() {
    return Small(40) == 0 ? Small(2000) - 1000 : Small(s_->schedule.stages().size());
  }
  std::int64_t Number() {
    constexpr std::array<std::int64_t, 12> kNumbers = {1,
                                                       2,
                                                       2,
                                                       3,
                                                       4,
                                                       4,
                                                       8,
                                                       8,
                                                       0,
                                                       -1,
                                                       std::numeric_limits<std::int64_t>::max(),
                                                       std::numeric_limits<std::int64_t>::min()};
    return kNumbers[random_.Below(Small(10) == 0 ? kNumbers.size() : 8)];
  }

  Random random_;
  tw_schedule* s_;
};

TEST(PluginHostTest, RandomCallsAreRefusedOrLegal) {
  constexpr std::uint64_t kSeeds = 3000;
  std::int64_t legal = 0, lowered = 0;
  const Workload conv = *Workload::Parse(
      "conv2d(float32[1,4,6,6]NCHW,float32[8,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  const Epilogue epilogue = *Epilogue::Parse("add(channel:float32);relu");
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    tw_schedule schedule{conv, epilogue, Schedule(*DefineAnchor(conv, epilogue))};
    RandomCalls calls(seed, schedule);
    for (std::uint64_t i = 0; i < 1 + seed % 8; ++i) calls.Call();
    if (!schedule.schedule.status().ok()) continue;
    ++legal;
    (void)Summarize(schedule.schedule).ok();
    lowered += Lower(schedule.schedule, "kernel").ok() ? 1 : 0;
  }
  EXPECT_GT(legal, 100);
  EXPECT_GT(lowered, 100);
}

TEST(PluginHostTest, KnobsOfASpaceAreChecked) {
  const tw_host& tw = plugins::PluginHost();
  const std::int64_t twice[] = {3, 3}, order[] = {0, 2}, factors[] = {4, 0};
  const auto refusal = [&](auto add) {
    tw_space space;
    add(&space);
    tw.knob_integer(&space, "later", order, 2);  // has no effect
    EXPECT_TRUE(space.space.knobs().empty());
    return space.status.message();
  };
  EXPECT_EQ(refusal([&](tw_space* s) { tw.knob_integer(s, "a", twice, 2); }),
            "knob 'a': the value 3 twice");
  EXPECT_EQ(refusal([&](tw_space* s) { tw.knob_integer(s, "a", nullptr, 2); }),
            "knob 'a': 2 values, expected 1 to 65536");
  EXPECT_EQ(refusal([&](tw_space* s) { tw.knob_order(s, "a", order, 2, 1); }),
            "knob 'a': order 0 is not a permutation");
  EXPECT_EQ(refusal([&](tw_space* s) { tw.knob_factors(s, "a", factors, 2, 1); }),
            "knob 'a': expected 1 to 4 factors above 0");
  EXPECT_NE(refusal([&](tw_space* s) { tw.knob_split(s, "a", 0, 2, 0); }), "");
}

}  // namespace
}  // namespace tilewright::cli
