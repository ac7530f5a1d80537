// Files of other kinds in the place of a model: the program names the kind and the next step.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "python_free_cli/command.h"
#include "python_free_cli/end_command.h"
#include "src/base/files/file.h"
#include "src/base/files/file_kind.h"
#include "src/plugins/registries.h"
#include "tests/support/wrong_files.h"

namespace tilewright::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class WrongFilesTest : public testing::Test {
 protected:
  /// Runs `inspect FILE` and checks its exit code and message.
  void Check(const std::string& path, const std::string& kind, std::string advice) {
    const auto command = MakeInspectCommand();
    CLI::App app("", "inspect");
    command->Declare(app);
    app.parse("\"" + path + "\"");
    const plugins::Registries registries;
    command->Use(registries);
    testing::internal::CaptureStderr();
    const int code = EndCommand("inspect", [&] { return command->Run(); });
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, kExitBadInput) << path;
    for (std::size_t at; (at = advice.find("{}")) != std::string::npos;) {
      advice.replace(at, 2, path);
    }
    const auto known = std::ranges::find(FileKinds(), kind, &FileKind::name);
    ASSERT_NE(known, FileKinds().end()) << kind;
    EXPECT_THAT(said, StartsWith("tilewright inspect: " + path +
                                 ": expected an ONNX file or Relay text; this is " +
                                 std::string(known->what) + ".\n  "));
    EXPECT_THAT(said.substr(said.find('\n')), HasSubstr(advice));
  }
};

TEST_F(WrongFilesTest, AreNamedWithTheNextStep) {
  const auto folder = ScopedTempDir::Create("wrong-files");
  ASSERT_TRUE(folder.ok());
  for (const WrongFile& file : WrongFiles()) {
    const std::string path = folder->path() + "/" + file.name;
    ASSERT_TRUE(WriteFile(path, file.bytes).ok());
    Check(path, file.kind, file.advice);
  }
  for (const WrongFolder& wrong : WrongFolders()) {
    const std::string path = folder->path() + "/folder_" + wrong.name;
    std::filesystem::create_directory(path);
    for (const std::string& name : wrong.files) ASSERT_TRUE(WriteFile(path + "/" + name, "x").ok());
    Check(path, wrong.kind, wrong.advice);
  }
}

}  // namespace
}  // namespace tilewright::cli
