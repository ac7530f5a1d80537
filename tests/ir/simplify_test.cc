#include "src/ir/simplify.h"

#include <gtest/gtest.h>

#include "src/base/math.h"
#include "src/base/random.h"
#include "src/ir/fold.h"
#include "src/ir/visit.h"

namespace tilewright {
namespace {

class SimplifyTest : public testing::Test {
 protected:
  SimplifyTest() {
    ranges_.Set(x_, {0, 7});
    ranges_.Set(y_, {0, 3});
  }
  std::string Simple(const Expr& e) { return ToString(Simplify(e, ranges_)); }

  Expr x_ = MakeVar("x"), y_ = MakeVar("y"), z_ = MakeVar("z");
  Ranges ranges_;
};

TEST_F(SimplifyTest, LinearTermsAreCollected) {
  EXPECT_EQ(Simple(x_ * 4 + y_ + x_ * 2 - y_ + 3), "x*6 + 3");
  EXPECT_EQ(Simple((x_ + y_) * 4 - x_ * 4), "y*4");
  EXPECT_EQ(Simple(x_ - x_), "0");
  EXPECT_EQ(Simple(y_ - x_), "y - x");
}

TEST_F(SimplifyTest, DivisionsResolveWhereRangesAllow) {
  EXPECT_EQ(Simple(FloorDiv(z_ * 8 + x_, Expr(8))), "z");
  EXPECT_EQ(Simple(FloorMod(z_ * 8 + x_, Expr(8))), "x");
  EXPECT_EQ(Simple(FloorDiv(x_, Expr(4))), "floordiv(x, 4)");
  EXPECT_EQ(Simple(FloorDiv(z_ * 8 + y_ * 2, Expr(4))), "z*2 + floordiv(y, 2)");
  EXPECT_EQ(Simple(FloorDiv(z_, Expr(6)) * 6 + FloorMod(z_, Expr(6))), "z");
}

TEST_F(SimplifyTest, ComparisonsResolveWhereRangesAllow) {
  EXPECT_EQ(Simple(Lt(x_, Expr(8))), "true");
  EXPECT_EQ(Simple(Le(Expr(8), x_)), "false");
  EXPECT_EQ(Simple(Lt(x_ + y_, Expr(8))), "x + y < 8");
  EXPECT_EQ(Simple(Min(x_, Expr(9))), "x");
  EXPECT_EQ(Simple(Max(x_ + z_, z_)), "x + z");
}

TEST_F(SimplifyTest, FactsHoldUntilTheyArePopped) {
  const Expr atom = FloorMod(z_, Expr(4));
  EXPECT_EQ(Simple(Lt(atom, Expr(3))), "floormod(z, 4) < 3");
  ranges_.PushFact(atom, {0, 2});
  EXPECT_EQ(Simple(Lt(atom, Expr(3))), "true");
  ranges_.PopFact();
  EXPECT_EQ(Simple(Lt(atom, Expr(3))), "floormod(z, 4) < 3");
}

std::int64_t ValueAt(const Expr& e, const Substitution& point) {
  const Expr value = Substitute(e, point);
  std::int64_t result = 0;
  EXPECT_TRUE(value.IsInt(&result)) << ToString(value);
  return result;
}

/// Returns a random index expression over two variables.
Expr RandomIndex(Random* random, const std::vector<Expr>& vars, int depth) {
  if (depth == 0 || random->Below(5) == 0) {
    if (random->Below(3) == 0) return Expr(static_cast<std::int64_t>(random->Below(9)) - 4);
    return vars[random->Below(vars.size())];
  }
  const Expr a = RandomIndex(random, vars, depth - 1);
  const Expr b = RandomIndex(random, vars, depth - 1);
  const Expr c(static_cast<std::int64_t>(random->Below(8)) + 1);
  switch (random->Below(8)) {
    case 0:
      return a - b;
    case 1:
      return a * c;
    case 2:
      return FloorDiv(a, c);
    case 3:
      return FloorMod(a, c);
    case 4:
      return Min(a, b);
    case 5:
      return Max(a, b);
    case 6:
      return MakeSelect(Lt(a, b), a + c, b);
    default:
      return a + b;
  }
}

TEST(SimplifyRandomTest, ValuesAndBoundsHold) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const std::vector<Expr> vars{MakeVar("a"), MakeVar("b")};
    Ranges ranges;
    ranges.Set(vars[0], {0, 6});
    ranges.Set(vars[1], {-3, 4});
    const Expr e = RandomIndex(&random, vars, 4);
    const Expr simple = Simplify(e, ranges);
    const auto bounds = BoundsOf(e, ranges);
    for (std::int64_t a = 0; a <= 6; ++a) {
      for (std::int64_t b = -3; b <= 4; ++b) {
        const Substitution point{{vars[0].get(), Expr(a)}, {vars[1].get(), Expr(b)}};
        const std::int64_t value = ValueAt(e, point);
        ASSERT_EQ(ValueAt(simple, point), value)
            << "seed " << seed << ": " << ToString(e) << " became " << ToString(simple);
        ASSERT_TRUE(!bounds || (bounds->min <= value && value <= bounds->max))
            << "seed " << seed << ": " << ToString(e);
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
