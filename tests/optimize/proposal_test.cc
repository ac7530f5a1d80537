#include "src/optimize/proposal.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tilewright::optimize {
namespace {

/// Two sites, the second of which reads 1000 elements from the first. A conversion takes a second.
constexpr double kBytesPerSecond = 8000;
std::vector<SiteReport> TwoSites() {
  std::vector<SiteReport> sites(2);
  sites[0].site.formats = {Format::kFloat32, Format::kBFloat16};
  sites[0].seconds = {4, 2};
  sites[0].noise = {0, 1e-3};
  sites[1].site.formats = {Format::kFloat32, Format::kBFloat16, Format::kInt8};
  sites[1].site.before = 0;
  sites[1].site.elements = 1000;
  sites[1].seconds = {6, 3, 1};
  sites[1].noise = {0, 1e-3, std::numeric_limits<double>::quiet_NaN()};
  return sites;
}

Combination Measured(const Proposal& proposal, const Formats& formats, double ratio, double noise) {
  Combination combination;
  combination.formats = formats;
  proposal.Predict(combination);
  combination.ratio = ratio;
  combination.search.relative_noise = noise;
  return combination;
}

const Formats kFloats = {Format::kFloat32, Format::kFloat32};
const Formats kFirst = {Format::kBFloat16, Format::kFloat32};
const Formats kBoth = {Format::kBFloat16, Format::kBFloat16};

TEST(ProposalTest, PredictsSitesAndConversions) {
  const auto sites = TwoSites();
  const Proposal proposal(sites, {Metric::kSqnr, 30}, 1e-3, kBytesPerSecond);
  const auto ratio = [&](const Formats& formats) {
    return Measured(proposal, formats, 1, 0).predicted_ratio;
  };
  EXPECT_DOUBLE_EQ(ratio(kFloats), 1);
  EXPECT_DOUBLE_EQ(ratio(kFirst), 0.9);
  EXPECT_DOUBLE_EQ(ratio(kBoth), 0.5);
  EXPECT_DOUBLE_EQ(Measured(proposal, kBoth, 1, 0).predicted_noise, 2e-3);
  EXPECT_EQ(proposal.FormatsOf(proposal.Next()), (Formats{Format::kFloat32, Format::kBFloat16}));
}

TEST(ProposalTest, NoNumbersAreNeverChosen) {
  const auto sites = TwoSites();
  const Proposal proposal(sites, {Metric::kSqnr, 30}, 1e6, kBytesPerSecond);
  EXPECT_EQ(proposal.FormatsOf(proposal.Next()), kBoth);
}

TEST(ProposalTest, MeasuredNoiseBelowThePredictionRaisesTheLimit) {
  const auto sites = TwoSites();
  Proposal proposal(sites, {Metric::kSqnr, 30}, 1e-3, kBytesPerSecond);
  const Choice first = proposal.Next();
  EXPECT_TRUE(proposal.Correct(first, Measured(proposal, proposal.FormatsOf(first), 0.8, 0.2e-3)));
  EXPECT_EQ(proposal.FormatsOf(proposal.Next()), kBoth);
  // Measured noise next to the bound's ends the search.
  const Choice second = proposal.Next();
  EXPECT_FALSE(proposal.Correct(second, Measured(proposal, kBoth, 0.5, 0.9e-3)));
}

TEST(ProposalTest, ABrokenBoundLowersTheLimit) {
  const auto sites = TwoSites();
  Proposal proposal(sites, {Metric::kCosine, 0.999}, 2e-3, kBytesPerSecond);
  const Choice both = proposal.Next();
  ASSERT_EQ(proposal.FormatsOf(both), kBoth);
  Combination broken = Measured(proposal, kBoth, 0.5, 0);
  broken.search.cosine = 0.9;
  EXPECT_TRUE(proposal.Correct(both, broken));
  EXPECT_EQ(proposal.FormatsOf(proposal.Next()), kFloats);  // a quarter of the limit
}

TEST(ProposalTest, MeasuredTimesCorrectTheCostOfConversions) {
  const auto sites = TwoSites();
  Proposal proposal(sites, {Metric::kSqnr, 30}, 1e-3, kBytesPerSecond);
  const Choice choice{{1, 0}, 9, 1e-3};
  proposal.Correct(choice, Measured(proposal, kFirst, 0.85, 0.2e-3));  // half a second
  EXPECT_DOUBLE_EQ(Measured(proposal, kFirst, 1, 0).predicted_ratio, 0.85);
  proposal.Correct(choice, Measured(proposal, kFirst, 0.5, 0.2e-3));  // at least an eighth
  EXPECT_DOUBLE_EQ(Measured(proposal, kFirst, 1, 0).predicted_ratio, 0.8125);
  EXPECT_DOUBLE_EQ(Measured(proposal, kBoth, 1, 0).predicted_ratio, 0.5);
}

}  // namespace
}  // namespace tilewright::optimize
