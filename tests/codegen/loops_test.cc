// Loops, vectors, guards and storage: small hand-written programs, run for every target that this
// machine supports.

#include <cmath>
#include <functional>
#include <sstream>
#include <string>

#include "src/runtime/thread_pool.h"
#include "tests/codegen/kernel_runner.h"

namespace tilewright {
namespace {

class LoopsTest : public testing::TestWithParam<std::string> {
 protected:
  KernelRunner Build(const Program& program) {
    Result<KernelRunner> runner = KernelRunner::Build(program, *Target::Parse(GetParam()));
    TW_CHECK(runner.ok(), runner.status().message());
    return std::move(*runner);
  }
};

void Fill(float* data, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t i = 0; i < count; ++i) data[i] = static_cast<float>(Seeded(seed, i, 100));
}

Program VectorAdd(std::int64_t n, LoopKind kind) {
  const Buffer a = MakeBuffer("a", kFloat32, {n});
  const Buffer b = MakeBuffer("b", kFloat32, {n});
  const Buffer c = MakeBuffer("c", kFloat32, {n});
  const Expr i = MakeVar("i");
  return {"add",
          {a, b, c},
          1,
          MakeFor(i, n, kind, MakeStore(c, {i}, MakeLoad(a, {i}) + MakeLoad(b, {i})))};
}

TEST_P(LoopsTest, AddsVectorsOfOddLengths) {
  for (const std::int64_t n : {1, 2, 3, 7, 16, 24, 64, 100, 333, 1000}) {
    for (const LoopKind kind : {LoopKind::kSerial, LoopKind::kVectorized}) {
      KernelRunner kernel = Build(VectorAdd(n, kind));
      Fill(kernel.Data<float>(0), n, 1);
      Fill(kernel.Data<float>(1), n, 2);
      kernel.Run();
      for (std::int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(kernel.Data<float>(2)[i], kernel.Data<float>(0)[i] + kernel.Data<float>(1)[i]);
      }
    }
  }
}

/// Returns a tile of count x n accumulators: rows first, first + 1, ... of out = a^T b.
Stmt MatmulTile(const Buffer& a, const Buffer& b, const Buffer& out, const Expr& first,
                std::int64_t count) {
  const std::int64_t n = b->shape[1];
  const Buffer acc = MakeBuffer("acc", kFloat32, {count, n}, Scope::kLocal);
  auto each = [&](const std::function<Stmt(Expr, Expr)>& body) {
    const Expr i = MakeVar("i"), j = MakeVar("j");
    const Stmt inner = MakeFor(j, n, LoopKind::kVectorized, body(i, j));
    return MakeFor(i, count, LoopKind::kUnrolled, inner);
  };
  const Expr p = MakeVar("p");
  const Stmt clear = each([&](const Expr& i, const Expr& j) {
    return MakeStore(acc, {i, j}, MakeFloat(kFloat32, 0));
  });
  const Stmt sum = each([&](const Expr& i, const Expr& j) {
    return MakeStore(acc, {i, j},
                     MakeLoad(acc, {i, j}) + MakeLoad(a, {p, first + i}) * MakeLoad(b, {p, j}));
  });
  const Stmt copy = each([&](const Expr& i, const Expr& j) {
    return MakeStore(out, {first + i, j}, MakeLoad(acc, {i, j}));
  });
  std::vector<Stmt> steps = {clear, MakeFor(p, b->shape[0], LoopKind::kSerial, sum), copy};
  return MakeAllocate(acc, MakeBlock(std::move(steps)));
}

/// out = a^T b; the remaining rows (a peeled tail) have a separate tile.
Program TiledMatmul(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t rows) {
  const Buffer a = MakeBuffer("a", kFloat32, {k, m});
  const Buffer b = MakeBuffer("b", kFloat32, {k, n});
  const Buffer out = MakeBuffer("out", kFloat32, {m, n});
  const Expr outer = MakeVar("outer");
  const Stmt tile = MatmulTile(a, b, out, outer * rows, rows);
  std::vector<Stmt> body;
  body.push_back(MakeFor(outer, m / rows, LoopKind::kSerial, tile));
  if (m % rows != 0) body.push_back(MatmulTile(a, b, out, Expr(m / rows * rows), m % rows));
  return {"matmul", {a, b, out}, 1, MakeBlock(std::move(body))};
}

TEST_P(LoopsTest, MultipliesMatricesInRegisterTiles) {
  struct Case {
    std::int64_t m, n, k, rows;
  };
  for (const Case& c : {Case{14, 64, 33, 7}, Case{29, 16, 20, 14}, Case{9, 24, 17, 4},
                        Case{5, 13, 3, 2}, Case{7, 32, 50, 6}}) {
    KernelRunner kernel = Build(TiledMatmul(c.m, c.n, c.k, c.rows));
    Fill(kernel.Data<float>(0), c.k * c.m, 1);
    Fill(kernel.Data<float>(1), c.k * c.n, 2);
    kernel.Run();
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        float sum = 0;  // small integers, so the sum is exact
        for (std::int64_t p = 0; p < c.k; ++p) {
          sum += kernel.Data<float>(0)[p * c.m + i] * kernel.Data<float>(1)[p * c.n + j];
        }
        ASSERT_EQ(kernel.Data<float>(2)[i * c.n + j], sum) << i << " " << j << " of " << c.m;
      }
    }
  }
}

/// out[i, j] = exp(a[i, j]) * a[i, j], computed in a register tile whose rows from `kept` on are
/// not part of `out`.
Program TileOfExp(std::int64_t rows, std::int64_t n, std::int64_t kept) {
  const Buffer a = MakeBuffer("a", kFloat32, {rows, n});
  const Buffer out = MakeBuffer("out", kFloat32, {kept, n});
  const Buffer tile = MakeBuffer("tile", kFloat32, {rows, n}, Scope::kLocal);
  const Expr i = MakeVar("i"), j = MakeVar("j"), k = MakeVar("k"), l = MakeVar("l");
  const Stmt fill =
      MakeFor(i, rows, LoopKind::kUnrolled,
              MakeFor(j, n, LoopKind::kVectorized, MakeStore(tile, {i, j}, MakeLoad(a, {i, j}))));
  const Expr value = MakeLoad(tile, {k, l});
  const Stmt store = MakeStore(out, {k, l}, MakeCall(kFloat32, "exp", {value}) * value);
  const Stmt epilogue = MakeFor(k, rows, LoopKind::kUnrolled,
                                MakeIf(Lt(k, kept), MakeFor(l, n, LoopKind::kVectorized, store)));
  return {"exps", {a, out}, 1, MakeAllocate(tile, MakeBlock({fill, epilogue}))};
}

TEST_P(LoopsTest, LongFunctionsOfATileStandInTheCodeOnce) {
  for (const std::int64_t n : {1, 8, 16, 24}) {
    const Program program = TileOfExp(14, n, 11);
    KernelRunner kernel = Build(program);
    Fill(kernel.Data<float>(0), 14 * n, 1);
    kernel.Run();
    for (std::int64_t i = 0; i < 11 * n; ++i) {
      const float x = kernel.Data<float>(0)[i];
      const double expected = std::exp(static_cast<double>(x)) * x;
      // For integers from 85 to 100, the product is infinity.
      if (x > 84) continue;
      ASSERT_NEAR(kernel.Data<float>(1)[i], expected, 4e-7 * std::fabs(expected) + 1e-37) << i;
    }
    const auto ir = Generate({program}, *Target::Parse(GetParam()), Emit::kLlvmIr);
    ASSERT_TRUE(ir.ok());
    // An exp takes nine multiply-adds, and the shortest vectors have four lanes.
    std::size_t multiply_adds = 0;
    std::istringstream lines(*ir);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("= call") != std::string::npos && line.find("fmuladd") != std::string::npos) {
        ++multiply_adds;
      }
    }
    EXPECT_GE(multiply_adds, 9U) << n;
    EXPECT_LE(multiply_adds, 9U * static_cast<std::size_t>((n + 3) / 4)) << n;
  }
}

/// out[c, i, p] = 2 * a[i, p, c], computed in a register tile that is transposed: its vectors run
/// along c, and are stored along p. Its rows from `kept` on are not part of `out`; 2 is a scalar.
Program TurnedTile(std::int64_t rows, std::int64_t pixels, std::int64_t channels,
                   std::int64_t kept) {
  const Buffer a = MakeBuffer("a", kFloat32, {rows, pixels, channels});
  const Buffer out = MakeBuffer("out", kFloat32, {channels, kept, pixels});
  const Buffer tile = MakeBuffer("tile", kFloat32, {rows, pixels, channels}, Scope::kLocal);
  const Buffer number = MakeBuffer("number", kFloat32, {}, Scope::kLocal);
  const Expr i = MakeVar("i"), p = MakeVar("p"), c = MakeVar("c");
  const Stmt copy = MakeFor(c, channels, LoopKind::kVectorized,
                            MakeStore(tile, {i, p, c}, MakeLoad(a, {i, p, c})));
  const Stmt fill =
      MakeFor(i, rows, LoopKind::kUnrolled, MakeFor(p, pixels, LoopKind::kUnrolled, copy));
  const Expr k = MakeVar("k"), u = MakeVar("u"), v = MakeVar("v");
  const Expr value = MakeLoad(tile, {k, v, u}) * MakeLoad(number, {});
  const Stmt turn =
      MakeFor(u, channels, LoopKind::kUnrolled,
              MakeFor(v, pixels, LoopKind::kVectorized, MakeStore(out, {u, k, v}, value)));
  const Stmt leave = MakeFor(k, rows, LoopKind::kUnrolled, MakeIf(Lt(k, kept), turn));
  const Stmt body = MakeBlock({MakeStore(number, {}, MakeFloat(kFloat32, 2)), fill, leave});
  return {"turned", {a, out}, 1, MakeAllocate(number, MakeAllocate(tile, body))};
}

TEST_P(LoopsTest, ATileThatLeavesTurnedIsTurnedInALoop) {
  for (const std::int64_t pixels : {3, 4, 8}) {
    for (const std::int64_t channels : {8, 16, 24}) {
      constexpr std::int64_t kRows = 3, kKept = 2;
      KernelRunner kernel = Build(TurnedTile(kRows, pixels, channels, kKept));
      Fill(kernel.Data<float>(0), kRows * pixels * channels, 1);
      kernel.Run();
      for (std::int64_t at = 0; at < channels * kKept * pixels; ++at) {
        const std::int64_t p = at % pixels, k = at / pixels % kKept, c = at / pixels / kKept;
        ASSERT_EQ(kernel.Data<float>(1)[at],
                  2 * kernel.Data<float>(0)[(k * pixels + p) * channels + c])
            << pixels << " pixels, " << channels << " channels, element " << at;
      }
    }
  }
}

TEST(TurnedTiles, TakeAsMuchCodeForManyRowsAsForFew) {
  const auto shuffles = [](std::int64_t rows) {
    const auto text = Generate({TurnedTile(rows, 4, 16, rows)},
                               *Target::Parse("llvm -mcpu=skylake-avx512"), Emit::kLlvmIr);
    EXPECT_TRUE(text.ok()) << text.status().message();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text->find("shufflevector", at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  };
  EXPECT_GT(shuffles(2), 0U);
  EXPECT_EQ(shuffles(7), shuffles(2));
}

/// One-dimensional convolution with zero padding: no read outside of the input may execute.
TEST_P(LoopsTest, GuardsReadsOutsideOfTheInput) {
  constexpr std::int64_t kLength = 37, kTaps = 5, kPad = 2;
  for (const bool unrolled_taps : {false, true}) {
    const Buffer in = MakeBuffer("in", kFloat32, {kLength});
    const Buffer taps = MakeBuffer("taps", kFloat32, {kTaps});
    const Buffer out = MakeBuffer("out", kFloat32, {kLength});
    const Expr v = MakeVar("v"), t = MakeVar("t");
    const Expr at = v + t - kPad;
    const Expr value =
        MakeSelect(And(Le(0, at), Lt(at, kLength)), MakeLoad(in, {at}), MakeFloat(kFloat32, 0));
    const Stmt body =
        MakeBlock({MakeStore(out, {v}, MakeFloat(kFloat32, 0)),
                   MakeFor(t, kTaps, unrolled_taps ? LoopKind::kUnrolled : LoopKind::kSerial,
                           MakeStore(out, {v}, MakeLoad(out, {v}) + value * MakeLoad(taps, {t})))});
    KernelRunner kernel =
        Build({"padded", {in, taps, out}, 1, MakeFor(v, kLength, LoopKind::kVectorized, body)});
    Fill(kernel.Data<float>(0), kLength, 1);
    Fill(kernel.Data<float>(1), kTaps, 2);
    kernel.Run();
    for (std::int64_t i = 0; i < kLength; ++i) {
      float sum = 0;
      for (std::int64_t j = 0; j < kTaps; ++j) {
        const std::int64_t p = i + j - kPad;
        if (p >= 0 && p < kLength) sum += kernel.Data<float>(0)[p] * kernel.Data<float>(1)[j];
      }
      ASSERT_EQ(kernel.Data<float>(2)[i], sum) << i;
    }
  }
}

/// The condition is the same in all lanes: padding rows around a vector of channels.
TEST_P(LoopsTest, GuardsReadsOfWholeVectors) {
  constexpr std::int64_t kRows = 9, kChannels = 16;
  const Buffer in = MakeBuffer("in", kFloat32, {kRows, kChannels});
  const Buffer out = MakeBuffer("out", kFloat32, {kRows + 4, kChannels});
  const Expr r = MakeVar("r"), c = MakeVar("c");
  const Expr inside = And(Le(2, r), Lt(r, kRows + 2));
  const Expr value = MakeSelect(inside, MakeLoad(in, {r - 2, c}), MakeFloat(kFloat32, -7)) *
                     MakeFloat(kFloat32, 2);
  KernelRunner kernel =
      Build({"rows",
             {in, out},
             1,
             MakeFor(r, kRows + 4, LoopKind::kSerial,
                     MakeFor(c, kChannels, LoopKind::kVectorized, MakeStore(out, {r, c}, value)))});
  Fill(kernel.Data<float>(0), kRows * kChannels, 3);
  kernel.Run();
  for (std::int64_t i = 0; i < kRows + 4; ++i) {
    for (std::int64_t j = 0; j < kChannels; ++j) {
      const bool within = i >= 2 && i < kRows + 2;
      const float expected = within ? kernel.Data<float>(0)[(i - 2) * kChannels + j] : -7.0f;
      ASSERT_EQ(kernel.Data<float>(1)[i * kChannels + j], 2 * expected) << i << " " << j;
    }
  }
}

/// A split that does not divide: a guard around the store limits the last chunk.
TEST_P(LoopsTest, GuardsStoresOfATail) {
  constexpr std::int64_t kLength = 50, kInner = 16;
  const Buffer in = MakeBuffer("in", kFloat32, {kLength});
  const Buffer out = MakeBuffer("out", kFloat32, {kLength});
  const Expr o = MakeVar("o"), v = MakeVar("v");
  const Expr i = o * kInner + v;
  const Stmt store = MakeStore(out, {i}, MakeLoad(in, {i}) + MakeFloat(kFloat32, 1));
  KernelRunner kernel =
      Build({"tail",
             {in, out},
             1,
             MakeFor(o, 4, LoopKind::kSerial,
                     MakeFor(v, kInner, LoopKind::kVectorized, MakeIf(Lt(i, kLength), store)))});
  Fill(kernel.Data<float>(0), kLength, 4);
  kernel.Run();
  for (std::int64_t j = 0; j < kLength; ++j) {
    ASSERT_EQ(kernel.Data<float>(1)[j], kernel.Data<float>(0)[j] + 1);
  }
}

/// Strides other than one for loads and stores, and an index that is not linear in the lane.
TEST_P(LoopsTest, GathersAndScatters) {
  constexpr std::int64_t kRows = 12, kColumns = 20;
  const Buffer in = MakeBuffer("in", kFloat32, {kRows, kColumns});
  const Buffer turned = MakeBuffer("turned", kFloat32, {kColumns, kRows});
  const Buffer folded = MakeBuffer("folded", kFloat32, {kRows * kColumns});
  const Expr r = MakeVar("r"), c = MakeVar("c"), f = MakeVar("f");
  const Stmt turn = MakeFor(
      r, kRows, LoopKind::kSerial,
      MakeFor(c, kColumns, LoopKind::kVectorized, MakeStore(turned, {c, r}, MakeLoad(in, {r, c}))));
  const Expr source = MakeLoad(in, {FloorMod(f, kRows), FloorDiv(f, kRows)});
  const Stmt fold = MakeFor(f, kRows * kColumns, LoopKind::kVectorized,
                            MakeIf(Lt(FloorMod(f, 7), 5), MakeStore(folded, {f}, source)));
  KernelRunner kernel = Build({"turn", {in, turned, folded}, 2, MakeBlock({turn, fold})});
  Fill(kernel.Data<float>(0), kRows * kColumns, 5);
  kernel.Run();
  const float* data = kernel.Data<float>(0);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kColumns; ++j) {
      ASSERT_EQ(kernel.Data<float>(1)[j * kRows + i], data[i * kColumns + j]);
    }
  }
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
    const float expected = i % 7 < 5 ? data[(i % kRows) * kColumns + i / kRows] : 0.0f;
    ASSERT_EQ(kernel.Data<float>(2)[i], expected) << i;
  }
}

/// Index of a fused loop: floordiv and floormod by the extent of the inner one.
TEST_P(LoopsTest, SplitsAFusedIndexAgain) {
  constexpr std::int64_t kOuter = 6, kInner = 16;
  const Buffer in = MakeBuffer("in", kFloat32, {kOuter, kInner});
  const Buffer scale = MakeBuffer("scale", kFloat32, {kInner});
  const Buffer out = MakeBuffer("out", kFloat32, {kOuter, kInner});
  const Expr f = MakeVar("f");
  const Expr i = FloorDiv(f, kInner), j = FloorMod(f, kInner);
  KernelRunner kernel =
      Build({"fused",
             {in, scale, out},
             1,
             MakeFor(f, kOuter * kInner, LoopKind::kVectorized,
                     MakeStore(out, {i, j}, MakeLoad(in, {i, j}) * MakeLoad(scale, {j})))});
  Fill(kernel.Data<float>(0), kOuter * kInner, 6);
  Fill(kernel.Data<float>(1), kInner, 7);
  kernel.Run();
  for (std::int64_t k = 0; k < kOuter * kInner; ++k) {
    ASSERT_EQ(kernel.Data<float>(2)[k], kernel.Data<float>(0)[k] * kernel.Data<float>(1)[k % 16]);
  }
}

/// A private buffer for each iteration (small: on the stack, large: in the worker's part of the
/// workspace), a buffer that all threads share, and a parallel loop inside a serial one.
Program ParallelRows(std::int64_t rows, std::int64_t columns, std::int64_t rounds) {
  const Buffer in = MakeBuffer("in", kFloat32, {rows, columns});
  const Buffer out = MakeBuffer("out", kFloat32, {rounds, rows, columns});
  const Buffer doubled = MakeBuffer("doubled", kFloat32, {rows, columns});
  const Buffer row = MakeBuffer("row", kFloat32, {columns});
  const Expr t = MakeVar("t"), r = MakeVar("r"), q = MakeVar("q");
  const Expr i = MakeVar("i"), j = MakeVar("j"), k = MakeVar("k");
  const Stmt twice =
      MakeFor(r, rows, LoopKind::kParallel,
              MakeFor(i, columns, LoopKind::kVectorized,
                      MakeStore(doubled, {r, i}, MakeLoad(in, {r, i}) + MakeLoad(in, {r, i}))));
  const Stmt reverse =
      MakeBlock({MakeFor(j, columns, LoopKind::kVectorized,
                         MakeStore(row, {j}, MakeLoad(doubled, {q, j}) + MakeCast(kFloat32, t))),
                 MakeFor(k, columns, LoopKind::kVectorized,
                         MakeStore(out, {t, q, k}, MakeLoad(row, {Expr(columns - 1) - k})))});
  const Stmt main = MakeFor(t, rounds, LoopKind::kSerial,
                            MakeFor(q, rows, LoopKind::kParallel, MakeAllocate(row, reverse)));
  return {"rows", {in, out}, 1, MakeAllocate(doubled, MakeBlock({twice, main}))};
}

TEST_P(LoopsTest, RunsParallelLoopsOnThePool) {
  for (const std::int64_t columns : {19, 2000}) {
    constexpr std::int64_t kRows = 7, kRounds = 3;
    KernelRunner kernel = Build(ParallelRows(kRows, columns, kRounds));
    EXPECT_GT(kernel.entry().info.workspace_bytes, 0);
    EXPECT_EQ(kernel.entry().info.workspace_bytes_per_thread > 0, columns == 2000);
    Fill(kernel.Data<float>(0), kRows * columns, 8);
    for (const int threads : {0, 1, 2, 3, 9}) {
      std::memset(kernel.Data<float>(1), 0,
                  static_cast<std::size_t>(4 * kRounds * kRows * columns));
      if (threads == 0) {
        kernel.Run();
      } else {
        Result<ThreadPool> pool = ThreadPool::Create(threads);
        ASSERT_TRUE(pool.ok());
        kernel.Run(pool->parallel());
      }
      for (std::int64_t i = 0; i < kRounds * kRows * columns; ++i) {
        const std::int64_t row = i / columns % kRows, column = columns - 1 - i % columns;
        const float expected = 2 * kernel.Data<float>(0)[row * columns + column] +
                               static_cast<float>(i / (kRows * columns));
        ASSERT_EQ(kernel.Data<float>(1)[i], expected) << i << " threads " << threads;
      }
    }
  }
}

TEST_P(LoopsTest, CopiesRegionsWithPadding) {
  const Buffer in = MakeBuffer("in", kInt8, {5, 6});
  const Buffer out = MakeBuffer("out", kInt8, {7, 8});
  const Buffer flat = MakeBuffer("flat", kInt8, {20});
  const Stmt pad = MakeCopy({out, {0, 0}, {7, 8}}, {in, {-1, -1}, {7, 8}}, MakeInt(kInt8, 9));
  const Stmt flatten = MakeCopy({flat, {2}, {12}}, {in, {1, 2}, {3, 4}});
  KernelRunner kernel = Build({"copy", {in, out, flat}, 2, MakeBlock({pad, flatten})});
  for (std::int64_t i = 0; i < 30; ++i)
    kernel.Data<std::int8_t>(0)[i] = static_cast<std::int8_t>(i);
  kernel.Run();
  for (int r = 0; r < 7; ++r) {
    for (int c = 0; c < 8; ++c) {
      const bool inside = r >= 1 && r <= 5 && c >= 1 && c <= 6;
      EXPECT_EQ(kernel.Data<std::int8_t>(1)[r * 8 + c], inside ? (r - 1) * 6 + c - 1 : 9);
    }
  }
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(kernel.Data<std::int8_t>(2)[2 + i], (1 + i / 4) * 6 + 2 + i % 4);
  }
}

/// out[p, j, i] = in[p, i, j] + in[p, i, j + shift] for j < columns. Columns are unrolled and rows
/// are vector lanes. Both are partial only if the back end can load whole rows of memory for them.
template <typename T>
void CheckTransposed(const std::string& target, DataType dtype, std::int64_t rows,
                     std::int64_t columns, std::int64_t shift) {
  const std::int64_t planes = 3, width = columns + shift;
  const Buffer in = MakeBuffer("in", dtype, {planes, rows, width});
  const Buffer out = MakeBuffer("out", dtype, {planes, columns, rows});
  const Expr p = MakeVar("p"), i = MakeVar("i"), j = MakeVar("j");
  const Expr sum = MakeLoad(in, {p, i, j}) + MakeLoad(in, {p, i, j + Expr(shift)});
  const Stmt lanes = MakeFor(i, rows, LoopKind::kVectorized, MakeStore(out, {p, j, i}, sum));
  const Program program{
      "transpose",
      {in, out},
      1,
      MakeFor(p, planes, LoopKind::kSerial, MakeFor(j, columns, LoopKind::kUnrolled, lanes))};
  auto kernel = KernelRunner::Build(program, *Target::Parse(target));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const auto at = [&](std::int64_t index) { return static_cast<T>(Seeded(7, index, 50)); };
  for (std::int64_t k = 0; k < in->elements(); ++k) kernel->Data<T>(0)[k] = at(k);
  kernel->Run();
  for (std::int64_t k = 0; k < out->elements(); ++k) {
    const std::int64_t row = k % rows, column = k / rows % columns, plane = k / rows / columns;
    const std::int64_t from = (plane * rows + row) * width + column;
    ASSERT_EQ(kernel->Data<T>(1)[k], static_cast<T>(at(from) + at(from + shift)))
        << rows << " rows, " << columns << " columns, element " << k;
  }
}

TEST_P(LoopsTest, TakesRowsOfMemoryForColumns) {
  for (const std::int64_t rows : {4, 8, 16, 24}) {
    for (const std::int64_t columns : {3, 4, 8, 16}) {
      CheckTransposed<float>(GetParam(), kFloat32, rows, columns, 5);
      CheckTransposed<std::int8_t>(GetParam(), kInt8, rows, columns, 1);
    }
  }
}

TEST(TransposedLoads, AreShufflesOfVectors) {
  const Buffer in = MakeBuffer("in", kFloat32, {16, 16});
  const Buffer out = MakeBuffer("out", kFloat32, {16, 16});
  const Expr i = MakeVar("i"), j = MakeVar("j");
  const Stmt lanes =
      MakeFor(i, 16, LoopKind::kVectorized, MakeStore(out, {j, i}, MakeLoad(in, {i, j})));
  const auto text =
      Generate({{"transpose", {in, out}, 1, MakeFor(j, 16, LoopKind::kUnrolled, lanes)}},
               *Target::Parse("llvm -mcpu=skylake-avx512"), Emit::kLlvmIr);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_NE(text->find("load <16 x float>"), std::string::npos);
  EXPECT_EQ(text->find("insertelement"), std::string::npos);
}

/// out[i, j] = in[i, 4 * (j / 4) + 1]: the second of each four lanes.
TEST_P(LoopsTest, PicksLanesFromOneRowOfMemory) {
  for (const std::int64_t columns : {8, 16, 20}) {
    const Buffer in = MakeBuffer("in", kFloat32, {3, columns});
    const Buffer out = MakeBuffer("out", kFloat32, {3, columns});
    const Expr i = MakeVar("i"), j = MakeVar("j");
    const Expr picked = MakeLoad(in, {i, FloorDiv(j, Expr(4)) * Expr(4) + Expr(1)});
    const Stmt lanes = MakeFor(j, columns, LoopKind::kVectorized, MakeStore(out, {i, j}, picked));
    KernelRunner kernel = Build({"pick", {in, out}, 1, MakeFor(i, 3, LoopKind::kSerial, lanes)});
    for (std::int64_t k = 0; k < in->elements(); ++k) {
      kernel.Data<float>(0)[k] = static_cast<float>(k);
    }
    kernel.Run();
    for (std::int64_t k = 0; k < out->elements(); ++k) {
      EXPECT_EQ(kernel.Data<float>(1)[k], static_cast<float>(k / 4 * 4 + 1)) << columns;
    }
  }
}

TEST(PickedLoads, AreShufflesOfVectors) {
  const Buffer in = MakeBuffer("in", kFloat32, {5, 16});
  const Buffer out = MakeBuffer("out", kFloat32, {5, 16});
  const Expr i = MakeVar("i"), j = MakeVar("j");
  const Expr picked = MakeLoad(in, {i, FloorDiv(j, Expr(8)) * Expr(8) + Expr(3)});
  const Stmt lanes = MakeFor(j, 16, LoopKind::kVectorized, MakeStore(out, {i, j}, picked));
  const auto text = Generate({{"pick", {in, out}, 1, MakeFor(i, 5, LoopKind::kSerial, lanes)}},
                             *Target::Parse("llvm -mcpu=skylake-avx512"), Emit::kLlvmIr);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_NE(text->find("shufflevector <16 x float>"), std::string::npos);
  EXPECT_EQ(text->find("insertelement"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Targets, LoopsTest, testing::ValuesIn(RunnableTargets()),
                         [](const auto& tested) { return TargetTestName(tested.param); });

}  // namespace
}  // namespace tilewright
