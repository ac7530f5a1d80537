#include "src/ir/expr.h"

#include <gtest/gtest.h>

#include "src/ir/fold.h"
#include "src/ir/simplify.h"
#include "src/ir/stmt.h"
#include "src/ir/visit.h"

namespace tilewright {
namespace {

TEST(DataTypeTest, NamesParseBack) {
  for (const char* name : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                           "float16", "bfloat16", "float32", "float64", "bool"}) {
    const auto dtype = ParseDataType(name);
    ASSERT_TRUE(dtype.ok());
    EXPECT_EQ(DataTypeName(*dtype), name);
  }
  EXPECT_EQ(
      ParseDataType("int7").status().message(),
      "data type 'int7', expected int8/16/32/64, uint8/16/32/64, float16/32/64, bfloat16 or bool");
}

TEST(FoldTest, IntegersWrapToTheirType) {
  EXPECT_EQ(FoldInt(ExprKind::kAdd, kInt8, 127, 1), -128);
  EXPECT_EQ(FoldInt(ExprKind::kMul, kUInt8, 16, 16), 0);
  EXPECT_EQ(FoldInt(ExprKind::kSub, kUInt32, 0, 1), 4294967295);
  EXPECT_EQ(FoldInt(ExprKind::kDiv, kInt32, -7, 2), -3);
  EXPECT_EQ(FoldInt(ExprKind::kFloorDiv, kInt64, -7, 2), -4);
  EXPECT_EQ(FoldInt(ExprKind::kFloorMod, kInt64, -7, 2), 1);
  EXPECT_EQ(FoldInt(ExprKind::kShiftRight, kInt32, -8, 1), -4);
  EXPECT_EQ(FoldInt(ExprKind::kDiv, kInt32, 1, 0), std::nullopt);
  EXPECT_EQ(FoldInt(ExprKind::kDiv, kInt8, -128, -1), -128);
  EXPECT_EQ(FoldInt(ExprKind::kFloorMod, kInt8, -128, -1), 0);
  EXPECT_EQ(FoldInt(ExprKind::kShiftLeft, kInt32, 1, 32), std::nullopt);
  EXPECT_EQ(WrapToType(kInt8, 200), -56);
}

TEST(ExprTest, ConstantsFoldAndNeutralElementsGo) {
  const Expr x = MakeVar("x");
  EXPECT_TRUE((x + 0).Same(x));
  EXPECT_TRUE((1 * x).Same(x));
  EXPECT_EQ(ToString(x * 0), "0");
  EXPECT_EQ(ToString((x + 3) + 4), "x + 7");
  EXPECT_EQ(ToString(x - 3), "x - 3");
  EXPECT_EQ(ToString((x * 4) * 2), "x*8");
  EXPECT_EQ(ToString(Lt(Expr(1), Expr(2))), "true");
  EXPECT_EQ(ToString(And(Lt(x, 4), Lt(Expr(1), Expr(2)))), "x < 4");
  EXPECT_EQ(ToString(MakeSelect(MakeInt(kBool, 1), x, x + 1)), "x");
  EXPECT_EQ(ToString(MakeCast(kInt8, MakeInt(kInt32, 300))), "int8(44)");
  EXPECT_EQ(ToString(Div(MakeFloat(kFloat32, 1), 1)), "1.0f");
}

TEST(ExprTest, IndexConstantsTakeTheOtherType) {
  const Expr a = MakeLoad(MakeBuffer("A", kFloat32, {4}), {Expr(1)});
  EXPECT_EQ(ToString(a * 2), "A[1] * 2.0f");
  EXPECT_EQ(ToString(MakeCast(kInt32, MakeVar("q", kInt8)) + 5), "int32(q) + 5");
}

TEST(ExprTest, PrecedenceDecidesParentheses) {
  const Expr x = MakeVar("x");
  const Expr y = MakeVar("y");
  EXPECT_EQ(ToString((x + y) * 4), "(x + y)*4");
  EXPECT_EQ(ToString(x - (y - 1)), "x - (y - 1)");
  EXPECT_EQ(ToString(FloorDiv(x + 1, Expr(2))), "floordiv(x + 1, 2)");
  EXPECT_EQ(ToString(MakeNot(Or(Lt(x, y), Eq(x, y)))), "!(x < y || x == y)");
  const Expr f = MakeVar("f", kFloat32);
  EXPECT_EQ(ToString((f + f) * MakeFloat(kFloat32, 0.1)), "(f + f) * 0.1f");
  EXPECT_EQ(ToString(MakeCall(kFloat32, "exp", {f})), "exp(f)");
}

TEST(VisitTest, SubstituteAndCompare) {
  const Expr x = MakeVar("x");
  const Expr y = MakeVar("x");
  const Expr a = x * 4 + 1;
  EXPECT_FALSE(SameExpr(a, y * 4 + 1));
  EXPECT_TRUE(SameExpr(Substitute(a, {{x.get(), y}}), y * 4 + 1));
  EXPECT_EQ(ToString(Substitute(a, {{x.get(), Expr(2)}})), "9");
}

TEST(StmtTest, PrintsNestedStatements) {
  const Buffer a = MakeBuffer("A", kFloat32, {4, 8});
  const Buffer t = MakeBuffer("t", kFloat32, {8}, Scope::kLocal);
  const Expr i = MakeVar("i");
  const Expr j = MakeVar("j");
  Stmt store = MakeStore(a, {i, j}, MakeLoad(t, {j}));
  Stmt body = MakeFor(
      i, 4, LoopKind::kParallel,
      MakeAllocate(
          t, MakeBlock({MakePrefetch(a, {i + 1, 0}, 2),
                        MakeFor(j, 8, LoopKind::kVectorized, MakeIf(Lt(j, i), store, store))})),
      {{"unroll_explicit", 1}});
  const Program program{"copy", {a}, 1, body};
  EXPECT_EQ(ToString(program), R"(copy(-> A: float32[4, 8]):
  for i in 0..4 parallel unroll_explicit=1:
    allocate t: float32[8] local
    prefetch A[i + 1, 0] locality=2
    for j in 0..8 vectorized:
      if j < i:
        A[i, j] = t[j]
      else:
        A[i, j] = t[j]
)");
}

TEST(ExprTest, QueriesFindNodesAtAnyDepth) {
  const Buffer a = MakeBuffer("a", kFloat32, {8}), b = MakeBuffer("b", kFloat32, {8});
  const Expr i = MakeVar("i"), j = MakeVar("j");
  const Expr value = MakeLoad(a, {i + Expr(1)}) * MakeFloat(kFloat32, 2);
  EXPECT_TRUE(Contains(value, i));
  EXPECT_FALSE(Contains(value, j));
  EXPECT_TRUE(HasKind(value, ExprKind::kLoad));
  EXPECT_FALSE(HasKind(value, ExprKind::kCall));
  EXPECT_TRUE(LoadsFrom(value, a));
  EXPECT_FALSE(LoadsFrom(value, b));
  EXPECT_FALSE(HasKind(Expr(), ExprKind::kLoad));
  const Expr other = LoadInstead(value, a, b);
  EXPECT_FALSE(LoadsFrom(other, a));
  EXPECT_TRUE(SameExpr(other, MakeLoad(b, {i + Expr(1)}) * MakeFloat(kFloat32, 2)));
  LinearForm form;
  form.AddTerm(i, 3);
  EXPECT_EQ(form.CoefficientOf(i), 3);
  EXPECT_EQ(form.CoefficientOf(j), 0);
}

}  // namespace
}  // namespace tilewright
