// Libraries whose kernels crash or do not end: `run`, `verify` and `bench` name the kernel and then
// end like other failed commands.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "python_free_cli/command.h"
#include "python_free_cli/end_command.h"
#include "python_free_cli/isolated_process.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/ir/stmt.h"
#include "src/plugins/registries.h"
#include "src/session/compare/network_progress.h"
#include "tests/support/built_in.h"

namespace tilewright::cli {
namespace {

using testing::HasSubstr;

/// A network of one operator, whose kernel has a name.
class NamedNetwork final : public RunnableNetwork {
 public:
  NamedNetwork() {
    ModelOperator& op = operators_.emplace_back();
    op.result.name = "y";
    op.op = "relu";
    op.kernel = "net_0_relu";
  }

 private:
  Result<std::vector<Tensor>> RunWithHooks(std::span<const Tensor>, const OnBegin& begin,
                                           const OnResult&) const override {
    begin(0);
    ::raise(SIGSEGV);
    return std::vector<Tensor>();
  }
};

TEST(AnnounceTest, AKernelThatCrashesIsNamed) {
  const auto body = [](CheckProgress& progress) -> Result<Json> {
    const NamedNetwork network;
    session::RegisterOperators(network, progress, 1);
    TW_RETURN_IF_ERROR(session::RunWithProgress(network, {}, progress));
    return Json();
  };
  EXPECT_THAT(RunCheckProcess(body, {}, 60).status.message(),
              testing::StartsWith("y (relu): its kernel net_0_relu"));
}

TEST(RunCheckProcessTest, AProcessThatWaitsForEverIsEnded) {
  const auto body = [](CheckProgress&) -> Result<Json> {
    while (true) ::pause();
  };
  const CheckProcessResult answer = RunCheckProcess(body, {}, 60, 0.2);
  EXPECT_EQ(answer.status.message(), "the library did nothing for 0.2 s before its first operator");
  EXPECT_FALSE(answer.broken.has_value());
}

TEST(RunCheckProcessTest, AProcessMayWaitAfterItsOperators) {
  const auto body = [](CheckProgress& progress) -> Result<Json> {
    progress.Begin(0);
    progress.End();
    SystemClock().SleepSeconds(0.6);  // as for a pager that nothing reads from
    return Json{{"printed", true}};
  };
  const CheckProcessResult answer = RunCheckProcess(body, {}, 60, 0.2);
  EXPECT_TRUE(answer.status.ok()) << answer.status.message();
}

constexpr const char* kRelu = "def @main(%x: Tensor[(4, 8), float32]) { nn.relu(%x) }";

std::vector<Expr> First(const Buffer& buffer) {
  return std::vector<Expr>(buffer->shape.size(), Expr(0));
}

/// Writes far outside of any mapping.
void Crash(Plan& plan) {
  Program& kernel = plan.kernels.front();
  const Buffer& result = kernel.parameters.back();
  std::vector<Expr> indices = First(result);
  indices.front() = MakeInt(kInt64, std::int64_t{1} << 44);
  kernel.body = MakeStore(result, indices, MakeFloat(kFloat32, 1));
}

/// Loops for centuries.
void NeverEnd(Plan& plan) {
  Program& kernel = plan.kernels.front();
  const Buffer& result = kernel.parameters.back();
  const Expr more = MakeLoad(result, First(result)) + MakeFloat(kFloat32, 1);
  kernel.body = MakeFor(MakeVar("again"), std::int64_t{1} << 60, LoopKind::kSerial,
                        MakeStore(result, First(result), more));
}

class FaultyKernels : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-own-process-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
    ASSERT_TRUE(WriteFile(Path("net.relay"), kRelu).ok());
  }
  std::string Path(const std::string& file) const { return folder_->path() + "/" + file; }

  /// Compiles a library whose only kernel is changed.
  std::string Library(void (*change)(Plan&)) {
    auto graph = ImportRelay(kRelu, "net");
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    CompileOptions options;
    options.templates = &BuiltInTemplates();
    options.target = *Target::Parse("native");
    options.device = ProbeHostCpu();
    options.check = CheckLevel::kNone;
    options.change_plan = change;
    const auto compiled = Compile(*std::move(graph), options, Path("net.so"));
    EXPECT_TRUE(compiled.ok()) << compiled.status().message();
    return Path("net.so");
  }
  static Result<int> Run(std::unique_ptr<Command> command, std::vector<std::string> arguments) {
    const plugins::Registries registries;
    command->Use(registries);
    CLI::App app;
    command->Declare(app);
    std::ranges::reverse(arguments);  // the order that the parser takes
    app.parse(std::move(arguments));
    return command->Run();
  }

  std::optional<ScopedTempDir> folder_;
};

TEST_F(FaultyKernels, ThatCrashAreNamed) {
  const std::string library = Library(&Crash);
  const auto expected = HasSubstr("relu): it ended the process that runs it: signal 11 (SIGSEGV)");
  EXPECT_THAT(Run(MakeRunCommand(), {library}).status().message(), expected);
  EXPECT_THAT(Run(MakeVerifyCommand(), {Path("net.relay"), library}).status().message(), expected);
  const auto bench = Run(MakeBenchCommand(), {library, "--seconds", "0.1"});
  EXPECT_THAT(bench.status().message(), expected);
  EXPECT_EQ(EndCommand("bench", [&] { return bench; }), kExitFailed);
}

TEST_F(FaultyKernels, ThatDoNotEndAreNamed) {
  const std::string library = Library(&NeverEnd);
  const auto expected = HasSubstr("relu): it did not end in 0.1 s");
  const auto limited = [&](std::unique_ptr<Command> command, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--operator-seconds", "0.1"});
    return Run(std::move(command), std::move(arguments)).status().message();
  };
  EXPECT_THAT(limited(MakeRunCommand(), {library}), expected);
  EXPECT_THAT(limited(MakeVerifyCommand(), {Path("net.relay"), library}), expected);
  EXPECT_THAT(limited(MakeBenchCommand(), {library}), expected);
}

TEST_F(FaultyKernels, OthersEndWithTheExitCodeOfTheirCommand) {
  const std::string library = Library([](Plan&) {});
  const auto ran = Run(MakeRunCommand(), {library, "--output", Path("y.npy")});
  ASSERT_TRUE(ran.ok()) << ran.status().message();
  EXPECT_EQ(*ran, kExitDone);
  EXPECT_TRUE(FileExists(Path("y.npy")));
  EXPECT_EQ(*Run(MakeVerifyCommand(), {Path("net.relay"), library}), kExitDone);
  EXPECT_EQ(*Run(MakeBenchCommand(), {library, "--seconds", "0.01"}), kExitDone);
  EXPECT_EQ(*Run(MakeRunCommand(), {Path("nothing.so")}), kExitBadInput);
}

}  // namespace
}  // namespace tilewright::cli
