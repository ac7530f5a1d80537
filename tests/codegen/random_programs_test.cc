// Random integer programs: the results of generated code and of the interpreter must be equal. The
// seed names the case.

#include <cstring>

#include "src/runtime/thread_pool.h"
#include "tests/codegen/kernel_runner.h"
#include "tests/support/interpreter.h"

namespace tilewright {
namespace {

constexpr DataType kTypes[] = {kInt8, kUInt8, kInt16, kInt32};

/// Generator of nests of three loops with every kind of loop, index and guard.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Program Make() {
    for (int i = 0; i < 3; ++i) {
      inputs_.push_back(MakeBuffer("in" + std::to_string(i), Type(), {Pick(1, 9), Pick(1, 40)}));
    }
    Program program{"random", inputs_, 2, {}};
    const Buffer middle = MakeBuffer("middle", kInt32, {Pick(1, 6), Pick(1, 5), Pick(1, 35)});
    const Buffer first = MakeBuffer("first", Type(), {Pick(1, 6), Pick(1, 5), Pick(1, 70)});
    const Buffer second = MakeBuffer("second", Type(), {Pick(1, 6), Pick(1, 5), Pick(1, 35)});
    std::vector<Stmt> nests = {Nest(middle)};
    inputs_.push_back(middle);
    nests.push_back(Nest(first));
    nests.push_back(Nest(second));
    program.parameters.push_back(first);
    program.parameters.push_back(second);
    program.body = MakeAllocate(middle, MakeBlock(std::move(nests)));
    return program;
  }

 private:
  std::int64_t Pick(std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool Chance(int percent) { return Pick(1, 100) <= percent; }
  DataType Type() { return kTypes[Pick(0, 3)]; }

  Stmt Nest(const Buffer& out) {
    vars_ = {MakeVar("i"), MakeVar("j"), MakeVar("k")};
    const std::vector<Expr> loops = vars_;
    const std::vector<Expr> at = vars_;
    Stmt body =
        Chance(30) ? Accumulate(out, at) : MakeStore(out, at, MakeCast(out->dtype, Value(3)));
    if (Chance(30)) {
      const Stmt other = MakeStore(out, at, MakeCast(out->dtype, Value(1)));
      // Elements that are read later must have been written.
      const bool complete = out->name == "middle" || Chance(50);
      body = MakeIf(Condition(), body, complete ? other : Stmt());
    }
    const LoopKind inner[] = {LoopKind::kVectorized, LoopKind::kVectorized, LoopKind::kSerial,
                              LoopKind::kUnrolled};
    const LoopKind outer[] = {LoopKind::kParallel, LoopKind::kSerial, LoopKind::kUnrolled};
    body = MakeFor(loops[2], out->shape[2], inner[Pick(0, 3)], body);
    body = MakeFor(loops[1], out->shape[1], outer[Pick(1, 2)], body);
    return MakeFor(loops[0], out->shape[0], outer[Pick(0, 2)], body);
  }

  /// Returns a sum that is accumulated in a private buffer before the store.
  Stmt Accumulate(const Buffer& out, const std::vector<Expr>& at) {
    const Buffer acc = MakeBuffer("acc", kInt32, {1}, Scope::kLocal);
    const Expr r = MakeVar("r");
    const Stmt clear = MakeStore(acc, {Expr(0)}, Value(1));
    vars_.push_back(r);
    const Stmt add = MakeStore(acc, {Expr(0)}, MakeLoad(acc, {Expr(0)}) + Value(2));
    vars_.pop_back();
    std::vector<Stmt> steps = {clear, MakeFor(r, Pick(1, 5), LoopKind::kSerial, add),
                               MakeStore(out, at, MakeCast(out->dtype, MakeLoad(acc, {Expr(0)})))};
    // A scalar for all lanes cannot be the accumulator of a vector loop: one element per iteration
    // of k.
    return Replace(acc, out->shape[2], at[2], steps);
  }

  Stmt Replace(const Buffer& scalar, std::int64_t extent, const Expr& lane,
               const std::vector<Stmt>& steps) {
    const Buffer acc = MakeBuffer("acc", kInt32, {extent}, Scope::kLocal);
    const auto load = [&](const Expr& value) { return Swap(value, scalar, acc, lane); };
    std::vector<Stmt> body;
    body.push_back(MakeStore(acc, {lane}, load(steps[0]->value)));
    const Stmt& loop = steps[1];
    body.push_back(MakeFor(loop->var, loop->extent, LoopKind::kSerial,
                           MakeStore(acc, {lane}, load(loop->body[0]->value))));
    body.push_back(MakeStore(steps[2]->buffer, steps[2]->indices, load(steps[2]->value)));
    return MakeAllocate(acc, MakeBlock(std::move(body)));
  }

  static Expr Swap(const Expr& value, const Buffer& from, const Buffer& to, const Expr& lane) {
    if (value->kind == ExprKind::kLoad && value->buffer == from) return MakeLoad(to, {lane});
    if (value->kind == ExprKind::kAdd) {
      return Swap(value->args[0], from, to, lane) + Swap(value->args[1], from, to, lane);
    }
    if (value->kind == ExprKind::kCast) {
      return MakeCast(value->dtype, Swap(value->args[0], from, to, lane));
    }
    return value;
  }

  Expr Index() {
    Expr index =
        vars_[static_cast<std::size_t>(Pick(0, static_cast<std::int64_t>(vars_.size()) - 1))];
    if (Chance(50)) index = index * Pick(1, 3) + Pick(-4, 4);
    if (Chance(30)) index = index + vars_[static_cast<std::size_t>(Pick(0, 2))] * Pick(-1, 2);
    if (Chance(20)) index = FloorDiv(index, Pick(1, 9));
    if (Chance(15)) index = Min(index, Pick(0, 20));
    return index;
  }

  Expr Load() {
    const Buffer& from =
        inputs_[static_cast<std::size_t>(Pick(0, static_cast<std::int64_t>(inputs_.size()) - 1))];
    std::vector<Expr> indices;
    Expr inside = MakeInt(kBool, 1);
    const bool guarded = Chance(40);
    for (const std::int64_t extent : from->shape) {
      const Expr index = Index();
      indices.push_back(guarded ? index : FloorMod(index, extent));
      inside = And(inside, And(Le(0, index), Lt(index, extent)));
    }
    const Expr value = MakeCast(kInt32, MakeLoad(from, indices));
    return guarded ? MakeSelect(inside, value, MakeInt(kInt32, Pick(-3, 3))) : value;
  }

  Expr Condition() {
    const Expr left = Chance(50) ? Index() : MakeCast(kInt64, Load());
    const Expr compared = Chance(50) ? Lt(left, Pick(-2, 12)) : Eq(FloorMod(left, 3), Pick(0, 2));
    return Chance(25) ? MakeNot(compared) : compared;
  }

  Expr Value(int depth) {
    if (depth == 0) {
      if (Chance(15)) return MakeInt(kInt32, Pick(-100, 100));
      if (Chance(15)) return MakeCast(kInt32, Index());
      return Load();
    }
    const Expr a = Value(depth - 1);
    switch (Pick(0, 6)) {
      case 0:
        return a + Value(depth - 1);
      case 1:
        return a - Value(depth - 1);
      case 2:
        return a * Value(depth - 1);
      case 3:
        return Min(Max(a, Value(depth - 1)), MakeInt(kInt32, Pick(0, 100)));
      case 4:
        return MakeSelect(Condition(), a, Value(depth - 1));
      case 5:
        return MakeBinary(ExprKind::kShiftRight, a, MakeInt(kInt32, Pick(0, 8)));
      default:
        return a;
    }
  }

  Random random_;
  std::vector<Buffer> inputs_;
  std::vector<Expr> vars_;
};

class RandomProgramsTest : public testing::TestWithParam<std::string> {};

TEST_P(RandomProgramsTest, ComputeWhatTheInterpreterDoes) {
  Result<ThreadPool> pool = ThreadPool::Create(2);
  ASSERT_TRUE(pool.ok());
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Program program = Generator(seed).Make();
    Result<KernelRunner> kernel = KernelRunner::Build(program, *Target::Parse(GetParam()));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    Interpreter interpreter;
    for (std::size_t p = 0; p < 3; ++p) {
      const Buffer& in = program.parameters[p];
      auto* bytes = kernel->Data<std::uint8_t>(p);
      for (std::int64_t i = 0; i < in->bytes(); ++i) {
        bytes[i] = static_cast<std::uint8_t>(Seeded(seed + p, i, 127));
      }
      Tensor values(TensorType{in->shape, in->dtype});
      std::memcpy(values.data(), bytes, static_cast<std::size_t>(in->bytes()));
      interpreter.SetContents(in, values);
    }
    for (std::size_t p = 3; p < 5; ++p) {  // not all of it is written; the rest is zero
      const Buffer& out = program.parameters[p];
      interpreter.SetContents(out, Tensor(TensorType{out->shape, out->dtype}));
    }
    kernel->Run(seed % 2 == 0 ? pool->parallel() : nullptr);
    interpreter.Execute(program.body);
    ASSERT_EQ(interpreter.error(), "") << "seed " << seed << "\n" << ToString(program);
    for (std::size_t p = 3; p < 5; ++p) {
      const Buffer& out = program.parameters[p];
      Tensor got(TensorType{out->shape, out->dtype});
      std::memcpy(got.data(), kernel->Data<void>(p), static_cast<std::size_t>(out->bytes()));
      ASSERT_EQ(NumbersOf(got), NumbersOf(interpreter.Contents(out)))
          << "seed " << seed << ", " << out->name << "\n"
          << ToString(program);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RandomProgramsTest, testing::ValuesIn(RunnableTargets()),
                         [](const auto& tested) { return TargetTestName(tested.param); });

}  // namespace
}  // namespace tilewright
