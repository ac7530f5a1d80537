#include "search/space.h"

#include <gtest/gtest.h>

#include <set>

#include "search/open/open_search_space.h"
#include "search/static_analyzer.h"
#include "search/strategies/annealing.h"
#include "search/strategies/proposal_history.h"
#include "src/target/library.h"
#include "src/templates/open/open_template.h"
#include "tests/strategy/synthetic.h"
#include "tests/support/built_in.h"

namespace tilewright::search {
namespace {

TEST(SpaceTest, SamplesSmallSpacesByTheRootOfTheirSize) {
  const SearchSpace space = MadeSpace();  // 700 and 10: roots 26.5 and 3.2
  Random random(1);
  int small = 0;
  for (int i = 0; i < 10000; ++i) small += SamplePoint(space, random).space;
  EXPECT_NEAR(small, 10000 * 3.162 / (26.458 + 3.162), 150);
}

TEST(SpaceTest, NeighboursDifferInOneKnobOrAreJumps) {
  const SearchSpace space = MadeSpace();
  Random random(1);
  const Point start{0, 123};
  int one_knob = 0;
  for (int i = 0; i < 1000; ++i) {
    const Point next = MutatePoint(space, start, random);
    if (next.space != 0) continue;
    EXPECT_GE(next.index, 0);
    EXPECT_LT(next.index, space.spaces[0].size());
    one_knob += Similarity(space, start, next) == 0.75 ? 1 : 0;
  }
  EXPECT_GT(one_knob, 900);
}

TEST(SpaceTest, SimilarityCountsEqualKnobs) {
  const SearchSpace space = MadeSpace();
  EXPECT_EQ(Similarity(space, {0, 0}, {0, 0}), 1);
  EXPECT_EQ(Similarity(space, {0, 0}, {0, 1}), 0.75);
  EXPECT_EQ(Similarity(space, {0, 0}, {1, 0}), 0);
}

// One config in a thousand is allowed: draws among all would rarely find one.
TEST(SpaceTest, SamplesOfOpenTasksFulfilTheConditions) {
  std::vector<Parameter> parameters(2);
  parameters[0].name = "a";
  parameters[1].name = "b";
  for (std::int64_t i = 0; i < 1000; ++i) {
    for (Parameter& parameter : parameters) parameter.values.emplace_back(i);
  }
  OpenTaskParts parts;
  parts.name = "test";
  parts.space = *OpenSpace::Create("test", parameters, {"a == 999 - b"});
  parts.command = {"run", "{a}", "{b}"};
  TemplateRegistry templates = TemplateRegistry::BuiltIn();
  const auto task = MakeOpenTask(parts);
  ASSERT_TRUE(task.ok() && AddOpenTask(templates, *task).ok());
  auto space = MakeSearchSpace(templates, {task->workload, task->target()}, {});
  ASSERT_TRUE(space.ok()) << space.status().message();
  AddLegalPoints(*space);
  const TemplateAnalyzer analyzer(*space);
  Random random(1);
  std::set<std::int64_t> drawn;
  for (int i = 0; i < 100; ++i) {
    const Point point = SamplePoint(*space, random);
    EXPECT_TRUE(analyzer.Check(point).ok());
    drawn.insert(point.index);
  }
  EXPECT_GT(drawn.size(), 80U);
  EXPECT_EQ(analyzer.Check({0, 0}).message(), "the condition a == 999 - b");
  const Candidate candidate = ToCandidate(*space, {0, 999});
  EXPECT_EQ(candidate.template_key, task->key);
  EXPECT_EQ(Locate(*space, candidate)->index, 999);
}

// A library is searched if the target names it and it is installed, whatever the records contain.
TEST(SpaceTest, ALibraryIsOneMoreTemplateOfTheSameTask) {
  const Workload workload = *Workload::Parse(
      "conv2d(float32[1,32,10,9]NCHW,float32[48,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  const Target plain = *Target::Parse("llvm -mcpu=haswell");
  auto without = MakeSearchSpace(BuiltInTemplates(), {workload, plain}, Epilogue());
  auto with = MakeSearchSpace(
      BuiltInTemplates(), {workload, *Target::Parse("llvm -mcpu=haswell -libs=dnnl")}, Epilogue());
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_EQ(with->task.target, plain);
  const bool here = LibraryVersion(*FindLibrary("dnnl")).ok();
  ASSERT_EQ(with->templates.size(), without->templates.size() + (here ? 1 : 0));
  if (!here) GTEST_SKIP() << "oneDNN is not on this machine";
  EXPECT_EQ(with->templates.back()->key, "conv2d.dnnl");
  // All of its configs are tried first.
  EXPECT_EQ(static_cast<std::int64_t>(DefaultPoints(*with).size()),
            static_cast<std::int64_t>(DefaultPoints(*without).size()) + with->spaces.back().size());
}

TEST(SpaceTest, LocatesACandidateByItsValues) {
  const SearchSpace space = MadeSpace();
  Candidate candidate = ToCandidate(space, {1, 7});
  EXPECT_EQ(candidate.template_key, "made.small");
  candidate.config.index = 99;  // only the values count
  EXPECT_EQ(*Locate(space, candidate), (Point{1, 7}));
  candidate.template_version = 2;
  EXPECT_EQ(Locate(space, candidate).status().message(),
            "template made.small version 2, expected 1");
  candidate.template_key = "gone";
  EXPECT_EQ(Locate(space, candidate).status().code(), StatusCode::kNotFound);
}

TEST(ProposalHistoryTest, KeepsOrderAndFindsTheFastest) {
  ProposalHistory history;
  for (std::int64_t i = 0; i < 1000; ++i) EXPECT_TRUE(history.Add({0, i * 7}));
  EXPECT_FALSE(history.Add({0, 7}));
  EXPECT_TRUE(history.Contains({0, 6993}));
  EXPECT_FALSE(history.Contains({1, 7}));
  EXPECT_EQ(history.best_seconds(), 0);
  history.Tell({{0, 70}, Outcome::kOk, 3});
  history.Tell({{0, 7}, Outcome::kOk, 2});
  history.Tell({{0, 14}, Outcome::kRunFailed, 1});
  history.Tell({{0, 0}, Outcome::kOk, 2});
  EXPECT_EQ(history.best_seconds(), 2);
  const auto fastest = history.Fastest(5);
  ASSERT_EQ(fastest.size(), 3u);
  EXPECT_EQ(history.entries()[fastest[0]].point, (Point{0, 0}));
  EXPECT_EQ(history.entries()[fastest[1]].point, (Point{0, 7}));
  EXPECT_EQ(history.observed_order().size(), 4u);
}

TEST(DiversityTest, PrefersWhatDiffersAmongEqualScores) {
  const SearchSpace space = MadeSpace();
  // 0 and 1 differ in one of four knobs, 0 and 699 in all.
  const std::vector<ScoredPoint> pool = {
      {{0, 0}, 1.0f}, {{0, 1}, 0.999f}, {{0, 699}, 0.998f}, {{0, 2}, 0.5f}};
  const std::vector<Point> chosen = ChooseDiverse(space, pool, {}, 2);
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0], (Point{0, 0}));
  EXPECT_EQ(chosen[1], (Point{0, 699}));
  EXPECT_EQ(ChooseDiverse(space, pool, {{0, 0}}, 1)[0], (Point{0, 699}));
}

}  // namespace
}  // namespace tilewright::search
