// Intentionally wrong libraries: none of them may remain on disk.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "src/base/files/file.h"
#include "src/compiler/check/check_plan.h"
#include "src/compiler/check/coverage.h"
#include "src/compiler/check/sample.h"
#include "src/compiler/compile.h"
#include "src/graph/expression_graph.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/ir/visit.h"
#include "src/tensor/synthetic_data.h"
#include "tests/compiler/sample_networks.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr const char* kChain =
    R"(def @main(%data: Tensor[(1, 3, 8, 8), float32], %other: Tensor[(1, 20, 8, 8), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(20, 3, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.max_pool2d(%0, pool_size=[3, 3], strides=[1, 1], padding=[1, 1, 1, 1]);
  %2 = subtract(%1, tanh(%other));
  %3 = nn.conv2d(%2, meta[relay.Constant][1] /* ty=Tensor[(4, 20, 1, 1), float32] */);
  (%3, nn.softmax(%2, axis=1))
})";
constexpr const char* kJoined = R"(def @main(%data: Tensor[(1, 16, 6, 6), float32]) {
  %0 = nn.relu(%data);
  %1 = sigmoid(%0);
  %2 = (%0, %1);
  %3 = concatenate(%2, axis=1);
  nn.max_pool2d(%3, pool_size=[2, 2])
})";
constexpr const char* kBytes = R"(def @main(%data: Tensor[(1, 16, 8, 8), int8]) {
  %0 = nn.max_pool2d(%data, pool_size=[2, 2], strides=[2, 2]);
  maximum(%0, negative(%0))
})";

Graph SeededGraph(const char* text) {
  auto graph = ImportRelay(text, "small");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  return *std::move(graph);
}

CompileOptions NativeOptions() {
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("native");
  options.device = ProbeHostCpu();
  return options;
}

PlanStep& StepOf(Plan& plan, const std::string& op) {
  for (PlanStep& step : plan.steps) {
    if (step.report.op.starts_with(op)) return step;
  }
  ADD_FAILURE() << "no step " << op;
  return plan.steps.front();
}

Program& KernelOf(Plan& plan, const std::string& op) {
  return plan.kernels[static_cast<std::size_t>(StepOf(plan, op).kernel()->kernel)];
}

/// Returns the statement with `change` applied to the stores to `buffer`.
Stmt WithStores(const Stmt& stmt, const Buffer& buffer, const std::function<Stmt(Stmt)>& change) {
  if (stmt->kind == StmtKind::kStore) return stmt->buffer == buffer ? change(stmt) : stmt;
  std::vector<Stmt> body;
  for (const Stmt& inner : stmt->body) body.push_back(WithStores(inner, buffer, change));
  return WithBody(stmt, std::move(body));
}

void ChangeStores(Program& kernel, const std::function<Stmt(Stmt)>& change) {
  kernel.body = WithStores(kernel.body, kernel.parameters.back(), change);
}

/// Writes nothing where the last index is 0.
Stmt ButTheFirst(const Stmt& store) {
  return MakeIf(MakeNot(Eq(store->indices.back(), Expr(0))), store);
}

/// Reads and writes far outside of all memory, at canonical addresses: with other addresses the
/// crash depends on registers. The distance exceeds the 4 TiB of the address sanitizer's heap.
Stmt FarAway(const Stmt& store) {
  constexpr std::int64_t kDistance = std::int64_t{5} << 40;
  std::vector<Expr> indices = store->indices;
  std::int64_t stride = store->buffer->dtype.bytes();
  for (std::size_t i = 1; i < indices.size(); ++i) stride *= store->buffer->shape[i];
  indices.front() = indices.front() + MakeInt(kInt64, -(kDistance / stride));
  return MakeStore(store->buffer, indices, store->value);
}

/// Repeats the whole kernel for centuries.
void MakeEndless(Program& kernel) {
  ChangeStores(kernel, [](const Stmt& store) {
    return MakeStore(store->buffer, store->indices,
                     store->value + MakeLoad(store->buffer, store->indices));
  });
  kernel.body = MakeFor(MakeVar("again"), std::int64_t{1} << 60, LoopKind::kSerial, kernel.body);
}

struct Fault {
  const char* name;
  const char* text;
  std::function<void(Plan&)> make;
  const char* message;
  double seconds = 1;  // of comparison
};

const Fault kFaults[] = {
    {"Unwritten", kChain,
     [](Plan& plan) { ChangeStores(KernelOf(plan, "max_pool2d"), ButTheFirst); }, "nothing writes"},
    {"UnwrittenOutput", kChain,
     [](Plan& plan) { ChangeStores(KernelOf(plan, "softmax"), ButTheFirst); }, "nothing writes"},
    {"UnwrittenBytes", kBytes,
     [](Plan& plan) { ChangeStores(KernelOf(plan, "max_pool2d"), ButTheFirst); },
     "nothing writes 64 of the 256 elements", 0},
    {"ALittleOff", kChain,
     [](Plan& plan) {
       ChangeStores(KernelOf(plan, "max_pool2d"), [](const Stmt& store) {
         return MakeStore(store->buffer, store->indices, store->value * MakeFloat(kFloat32, 1.001));
       });
     },
     "differs from the reference"},
    {"OneOffInBytes", kBytes,
     [](Plan& plan) {
       ChangeStores(KernelOf(plan, "max_pool2d"), [](const Stmt& store) {
         return MakeStore(store->buffer, store->indices,
                          MakeCast(kInt8, MakeCast(kInt32, store->value) + MakeInt(kInt32, 1)));
       });
     },
     "differs from the reference"},
    {"OtherConstant", kChain,
     [](Plan& plan) {
       for (float& value : plan.constants.front().As<float>()) value *= 1.01F;
     },
     "differs from the reference"},
    {"OperandsTurnedAround", kBytes,
     [](Plan& plan) {
       Program& kernel = KernelOf(plan, "negate");
       ChangeStores(kernel, [](const Stmt& store) {
         return MakeStore(store->buffer, store->indices, MakeInt(kInt8, 0) - store->value);
       });
     },
     "differs from the reference"},
    {"KernelOfAnotherSize", kChain,
     [](Plan& plan) {
       plan.buffers[static_cast<std::size_t>(StepOf(plan, "max_pool2d").buffers.back())].bytes /=
           16;
     },
     "in memory of"},
    {"TwoValuesInOnePlace", kChain,
     [](Plan& plan) {
       for (PlanBuffer& buffer : plan.buffers) {
         if (buffer.space == BufferSpace::kArena) buffer.offset = 0;
       }
     },
     "written over"},
    {"PartsElsewhere", kJoined,
     [](Plan& plan) {
       for (PlanBuffer& buffer : plan.buffers) {
         if (buffer.whole >= 0) buffer.offset += 64;
       }
     },
     "is not part of buffer"},
    {"PartsInOnePlace", kJoined,
     [](Plan& plan) {
       for (PlanBuffer& buffer : plan.buffers) {
         if (buffer.whole >= 0) buffer.offset -= buffer.begin, buffer.begin = 0;
       }
     },
     "written over"},
    {"PartOfItself", kJoined,
     [](Plan& plan) {
       for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
         if (plan.buffers[i].whole >= 0) plan.buffers[i].whole = static_cast<int>(i);
       }
     },
     "is a part of itself"},
    {"Crash", kChain, [](Plan& plan) { ChangeStores(KernelOf(plan, "max_pool2d"), FarAway); },
     "max_pool2d ended the process that runs it: signal 11 (SIGSEGV)"},
    {"CrashOfTheLast", kBytes, [](Plan& plan) { ChangeStores(KernelOf(plan, "negate"), FarAway); },
     "signal 11 (SIGSEGV)"},
    {"Endless", kChain, [](Plan& plan) { MakeEndless(KernelOf(plan, "max_pool2d")); },
     "max_pool2d did not end in 0.2 s"},
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class FaultyLibrary : public testing::TestWithParam<Fault> {};

TEST_P(FaultyLibrary, IsNotLeftBehind) {
  auto folder = ScopedTempDir::Create("tilewright-check-test");
  ASSERT_TRUE(folder.ok());
  CompileOptions options = NativeOptions();
  options.change_plan = GetParam().make;
  options.check_seconds = GetParam().seconds;
  options.check_operator_seconds = 0.2;
  const auto compiled =
      Compile(SeededGraph(GetParam().text), options, folder->path() + "/model.so");
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.status().code(), StatusCode::kInternal) << compiled.status().message();
  EXPECT_THAT(compiled.status().message(), HasSubstr(GetParam().message));
  EXPECT_TRUE(std::filesystem::is_empty(folder->path()));
}

INSTANTIATE_TEST_SUITE_P(Faults, FaultyLibrary, testing::ValuesIn(kFaults),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(CheckedLibrary, ForAnotherMachineIsProvedByItsCode) {
  auto folder = ScopedTempDir::Create("tilewright-check-test");
  ASSERT_TRUE(folder.ok());
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("cuda -arch=sm_80");
  const std::string path = folder->path() + "/model.so";
  const auto compiled = Compile(SeededGraph(kChain), options, path);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_FALSE(compiled->check.ran);
  EXPECT_THAT(compiled->check.not_run, HasSubstr("GPU"));
  EXPECT_THAT(compiled->check.not_proved, testing::IsEmpty());
  EXPECT_FALSE(compiled->check.not_compared.empty());

  options.check = CheckLevel::kAll;
  EXPECT_EQ(Compile(SeededGraph(kChain), options, path).status().code(), StatusCode::kUnsupported);
  options.check = CheckLevel::kSample;
  options.change_plan = [](Plan& plan) { ChangeStores(KernelOf(plan, "max_pool2d"), ButTheFirst); };
  EXPECT_THAT(Compile(SeededGraph(kChain), options, path).status().message(),
              HasSubstr("does not write all of its result"));
}

TEST(CheckedLibrary, WhollyComparedFindsWhatSamplesMiss) {
  auto folder = ScopedTempDir::Create("tilewright-check-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/model.so";
  CompileOptions options = NativeOptions();
  options.check = CheckLevel::kAll;
  auto compiled = Compile(SeededGraph(kChain), options, path);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_EQ(compiled->check.compared, compiled->check.operators);
  // Only one element in the middle of an image.
  options.change_plan = [](Plan& plan) {
    ChangeStores(KernelOf(plan, "softmax"), [](const Stmt& store) {
      const Expr wrong = And(Eq(store->indices[1], Expr(11)),
                             And(Eq(store->indices[2], Expr(3)), Eq(store->indices[3], Expr(5))));
      return MakeStore(store->buffer, store->indices,
                       MakeSelect(wrong, MakeFloat(kFloat32, 2), store->value));
    });
  };
  EXPECT_THAT(Compile(SeededGraph(kChain), options, path).status().message(),
              HasSubstr("differs from the reference"));
}

TEST(CheckedLibrary, AFolderThatTakesNoneIsAnErrorOfTheLibrary) {
  const auto compiled = Compile(SeededGraph(kChain), NativeOptions(), "/proc/model.so");
  EXPECT_THAT(compiled.status().message(),
              testing::StartsWith("/proc/model.so: cannot be written: "));
}

TEST(CheckedLibrary, NothingIsLeftOutOfTimeSilently) {
  auto folder = ScopedTempDir::Create("tilewright-check-test");
  ASSERT_TRUE(folder.ok());
  CompileOptions options = NativeOptions();
  options.check_seconds = 0;
  const auto compiled = Compile(SeededGraph(kChain), options, folder->path() + "/model.so");
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_EQ(compiled->check.compared, 0);
  EXPECT_EQ(compiled->check.not_compared.size(), static_cast<std::size_t>(compiled->kernels));
  EXPECT_THAT(compiled->check.not_compared.front().second, HasSubstr("time was up"));
}

TEST(Coverage, IsWhatTheCodeWrites) {
  const Buffer out = MakeBuffer("out", kFloat32, {6, 10});
  const Expr i = MakeVar("i"), j = MakeVar("j"), k = MakeVar("k");
  const auto program = [&](std::int64_t rows, std::int64_t columns, const Stmt& body) {
    Program kernel;
    kernel.parameters = {out};
    kernel.body =
        MakeFor(i, rows, LoopKind::kParallel, MakeFor(j, columns, LoopKind::kSerial, body));
    return kernel;
  };
  const auto store = [&](const Expr& row, const Expr& column) {
    return MakeStore(out, {row, column}, MakeFloat(kFloat32, 0));
  };
  const auto inner = [&](std::int64_t extent, const Stmt& body) {
    return MakeFor(k, extent, LoopKind::kVectorized, body);
  };
  const Expr tail = j * Expr(4) + k;
  struct Row {
    const char* name;
    Program kernel;
    Coverage coverage;
  };
  const Row rows[] = {
      {"all", program(6, 10, store(i, j)), Coverage::kAll},
      {"one row less", program(5, 10, store(i, j)), Coverage::kPart},
      {"turned around", program(6, 10, store(Expr(5) - i, j)), Coverage::kAll},
      {"every other", program(6, 5, store(i, j * Expr(2))), Coverage::kPart},
      {"tiles", program(6, 5, inner(2, store(i, j * Expr(2) + k))), Coverage::kAll},
      {"guarded tail", program(6, 3, inner(4, MakeIf(Lt(tail, Expr(10)), store(i, tail)))),
       Coverage::kAll},
      {"guard too early", program(6, 3, inner(4, MakeIf(Lt(tail, Expr(9)), store(i, tail)))),
       Coverage::kPart},
      {"divided", program(3, 20, store(i * Expr(2) + FloorDiv(j, Expr(10)), FloorMod(j, Expr(10)))),
       Coverage::kAll},
      {"nothing", program(6, 10, MakeBlock({})), Coverage::kPart},
      {"by data", program(6, 10, store(i, MakeCast(kInt64, MakeLoad(out, {i, j})))),
       Coverage::kUnknown},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(CoverageOf(row.kernel, 1000), row.coverage) << row.name;
  }
  EXPECT_EQ(CoverageOf(rows[5].kernel, 20), Coverage::kUnknown);
}

// Compares every element of every operator in the sample networks, computed from the reference's
// values around it.
TEST(SampledReferences, AreTheReference) {
  for (const Network& network : kNetworks) {
    const Graph graph = SeededGraph(network.text);
    std::vector<Tensor> inputs;
    for (int id : graph.inputs()) {
      inputs.push_back(MakeSyntheticInput(graph.node(id).name, graph.node(id).type,
                                          SyntheticInputRule::kRandom));
    }
    auto values = EvaluateGraph(graph, inputs, KeepValues::kAll);
    ASSERT_TRUE(values.ok()) << values.status().message();
    for (int id = 0; id < graph.size(); ++id) {
      const Node& node = graph.node(id);
      if (node.kind != NodeKind::kOperator) continue;
      const auto find = [&](int other) -> std::optional<TensorView> {
        if (other == id) return std::nullopt;
        const std::vector<int> ids = graph.inputs();
        const auto input = std::ranges::find(ids, other);
        const Tensor& value = input != ids.end()
                                  ? inputs[static_cast<std::size_t>(input - ids.begin())]
                                  : (*values)[static_cast<std::size_t>(other)];
        return TensorView{value.data(), PhysicalLayout()};
      };
      SampledReference reference(graph, find, std::int64_t{1} << 24);
      std::vector<std::int64_t> positions;
      for (std::int64_t i = 0; i < node.type.elements(); i += 1 + node.type.elements() / 97) {
        positions.push_back(i);
      }
      const auto sample = reference.At(id, positions);
      ASSERT_TRUE(sample.ok()) << network.name << " " << node.name << " "
                               << sample.status().message();
      const Tensor& expected = (*values)[static_cast<std::size_t>(id)];
      for (std::size_t i = 0; i < positions.size(); ++i) {
        const double seen = (*sample)->value.At(static_cast<std::int64_t>(i));
        const double wanted = expected.At(positions[i]);
        if (seen == wanted || (std::isnan(seen) && std::isnan(wanted))) continue;
        ASSERT_NEAR(seen, wanted, 1e-3 * std::fabs(wanted) + 1e-6)
            << network.name << " " << node.name << " at " << positions[i];
        ASSERT_TRUE(node.type.dtype.is_float()) << network.name << " " << node.name;
      }
    }
  }
}

// Rows of rows: a single element needs 64^4 data elements, but the elements of a row share them.
TEST(SampledReferences, ComputeEachElementOfARowOnce) {
  const Graph graph = SeededGraph(R"(def @main(%data: Tensor[(4, 64), float32]) {
  %0 = nn.softmax(%data, axis=1);
  %1 = nn.softmax(%0, axis=1);
  %2 = max(%1, axis=1, keepdims=True);
  %3 = subtract(%1, %2);
  nn.softmax(%3, axis=1)
})");
  const Tensor data =
      MakeSyntheticInput("data", graph.node(graph.inputs()[0]).type, SyntheticInputRule::kRandom);
  const auto find = [&](int id) -> std::optional<TensorView> {
    if (id != graph.inputs()[0]) return std::nullopt;
    return TensorView{data.data(), PhysicalLayout()};
  };
  constexpr std::int64_t kReads = 3 * 64 * 64;  // each element of two rows reads its row
  SampledReference reference(graph, find, kReads);
  const std::vector<std::int64_t> positions = {5, 3, 5, 70};
  const auto sample = reference.At(graph.outputs()[0], positions);
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  const auto values = EvaluateGraph(graph, std::span(&data, 1), KeepValues::kOutputs);
  ASSERT_TRUE(values.ok());
  const Tensor& expected = values->front();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    EXPECT_NEAR((*sample)->value.At(static_cast<std::int64_t>(i)), expected.At(positions[i]), 1e-6);
  }
}

// Products whose order depends on rounding. Positions other than the first must also be accepted if
// an element is requested twice, or after a concat.
TEST(SampledReferences, KnowAllRightPositions) {
  const auto expression = ParseExpression(
      "input A: float32[2, 4]\ninput B: float32[2, 4]\n"
      "I[r: 2] = argmax(i: 4) A[r, i] * B[r, i]");
  ASSERT_TRUE(expression.ok()) << expression.status().message();
  auto graph = GraphOfExpression(*expression, "positions");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const int chosen = graph->outputs()[0];
  Operator concat{OpKind::kConcat, {}}, pad{OpKind::kPad, {}};
  pad.attributes.pad_width = {1, 0};
  const auto joined = graph->AddOperator("joined", concat, {chosen, chosen});
  const auto padded = graph->AddOperator("padded", pad, {chosen});
  ASSERT_TRUE(joined.ok() && padded.ok());
  std::vector<Tensor> inputs(2);
  for (Tensor& input : inputs) input = Tensor(TensorType{{2, 4}, kFloat32});
  std::ranges::copy(std::array{3.0F, 2.0F, 0.3F, 1.0F, 1.0F, 3.0F, 2.0F, 0.3F},
                    inputs[0].As<float>().begin());
  std::ranges::copy(std::array{0.1F, 0.1F, 1.0F, 0.1F, 0.1F, 0.1F, 0.1F, 1.0F},
                    inputs[1].As<float>().begin());
  const auto find = [&](int id) -> std::optional<TensorView> {
    for (std::size_t i = 0; i < 2; ++i) {
      if (graph->inputs()[i] == id) return TensorView{inputs[i].data(), PhysicalLayout()};
    }
    return std::nullopt;
  };
  struct Row {
    int id;
    std::vector<std::int64_t> positions;
    std::vector<int> rows;  ///< of A; -1: no row, a zero
  };
  const Row asked[] = {{chosen, {0, 1}, {0, 1}},
                       {chosen, {1, 0, 1}, {1, 0, 1}},
                       {*joined, {2, 1, 3, 0}, {0, 1, 1, 0}},
                       {*padded, {1, 0, 2}, {0, -1, 1}}};
  constexpr std::array<std::array<std::int64_t, 2>, 2> kRight = {{{0, 2}, {1, 3}}};
  for (const Row& row : asked) {
    SampledReference reference(*graph, find, 1000);
    const auto sample = reference.At(row.id, row.positions);
    ASSERT_TRUE(sample.ok()) << sample.status().message();
    for (std::int64_t i = 0; i < std::ssize(row.rows); ++i) {
      Tensor seen = (*sample)->value.Clone();
      const int of = row.rows[static_cast<std::size_t>(i)];
      for (std::int64_t position = 0; position < 4; ++position) {
        seen.Set(i, static_cast<double>(position));
        const bool right =
            of < 0 ? position == 0
                   : std::ranges::count(kRight[static_cast<std::size_t>(of)], position) > 0;
        EXPECT_EQ(CompareBounded(seen, **sample).ok, right)
            << graph->node(row.id).name << " " << i << ": " << position;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
