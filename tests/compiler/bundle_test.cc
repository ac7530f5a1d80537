// A model as library, parameter file and graph: their contents, and rejection of other files.

#include "src/compiler/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/graph.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr char kBundledConv[] = R"(def @main(%data: Tensor[(1, 16, 8, 8), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(16, 16, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  nn.relu(%0)
})";

class Bundle : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-bundle-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
    options_.templates = &BuiltInTemplates();
    options_.target = *Target::Parse("llvm");
    options_.name = "net";
  }
  static Graph Load(const std::string& text = kBundledConv) {
    auto graph = ImportRelay(text, "net");
    TW_CHECK(graph.ok(), graph.status().message());
    SeedConstants(*graph, SeedRule::kMissing);
    return *std::move(graph);
  }
  /// Compiles into a folder of that name; returns its path.
  std::string Compiled(const std::string& name) {
    const std::string path = folder_->path() + "/" + name;
    const auto model = CompileBundle(Load(), options_, path);
    EXPECT_TRUE(model.ok()) << model.status().message();
    return path;
  }

  CompileOptions options_;
  std::optional<ScopedTempDir> folder_;
};

TEST_F(Bundle, GivesWhatTheLibraryGives) {
  const std::string bundle = Compiled("bundle");
  const std::string library = folder_->path() + "/net.so";
  ASSERT_TRUE(Compile(Load(), options_, library).ok());
  const auto one = ModelLibrary::Open(library);
  const auto other = ModelLibrary::Open(bundle);
  ASSERT_TRUE(one.ok());
  ASSERT_TRUE(other.ok()) << other.status().message();
  std::vector<Tensor> inputs;
  inputs.push_back(MakeSyntheticInput("data", one->inputs()[0].type, SyntheticInputRule::kRandom));
  const auto wanted = one->Run(inputs);
  const auto result = other->Run(inputs);
  ASSERT_TRUE(wanted.ok() && result.ok());
  EXPECT_TRUE(std::ranges::equal((*wanted)[0].As<float>(), (*result)[0].As<float>()));
}

TEST_F(Bundle, ANewOneLeavesProgramsThatRunTheOldOneAlone) {
  const std::string bundle = Compiled("bundle");
  const auto old = ModelLibrary::Open(bundle);
  ASSERT_TRUE(old.ok()) << old.status().message();
  std::vector<Tensor> inputs;
  inputs.push_back(MakeSyntheticInput("data", old->inputs()[0].type, SyntheticInputRule::kRandom));
  const auto before = old->Run(inputs);
  const auto parameters = ReadFile(bundle + "/net.params");
  std::string text = kBundledConv;
  text.replace(text.find("[0]"), 3, "[1]");  // synthetic contents depend on the name
  ASSERT_TRUE(CompileBundle(Load(text), options_, bundle).ok());
  EXPECT_FALSE(FileExists(bundle + "/net.so.params"));
  const auto after = old->Run(inputs);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_TRUE(std::ranges::equal((*before)[0].As<float>(), (*after)[0].As<float>()));
  EXPECT_NE(*ReadFile(bundle + "/net.params"), *parameters);
}

TEST_F(Bundle, TheGraphSaysWhereEveryTensorIs) {
  const std::string bundle = Compiled("bundle");
  const auto text = ReadFile(bundle + "/graph.json");
  ASSERT_TRUE(text.ok());
  const auto json = ParseJson(*text);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["format"], "tilewright-bundle-1");
  EXPECT_EQ((*json)["inputs"][0]["shape"], Json({1, 16, 8, 8}));
  const auto parameter_bytes = (*json)["parameter_bytes"].get<std::int64_t>();
  EXPECT_EQ(static_cast<std::int64_t>(ReadFile(bundle + "/net.params")->size()),
            parameter_bytes + TW_PARAMETER_OFFSET);
  int parameters = 0;
  for (const Json& step : (*json)["steps"]) {
    for (const Json& place : step["places"]) {
      if (place["space"] != "parameters") continue;
      ++parameters;
      EXPECT_LE(place["offset"].get<std::int64_t>() + place["bytes"].get<std::int64_t>(),
                parameter_bytes);
    }
  }
  EXPECT_EQ(parameters, 1) << "the weight";
}

TEST_F(Bundle, OnlyItsOwnParametersAreTaken) {
  const std::string bundle = Compiled("bundle");
  const std::string path = bundle + "/net.params";
  const std::string right = *ReadFile(path);
  std::string other = right;
  other[offsetof(TwParameterHeader, hash)] ^= 1;
  std::string later = right;
  later[offsetof(TwParameterHeader, version)] = 9;
  for (const std::string& wrong :
       {other, later, right.substr(0, right.size() - 1), right + "x", std::string()}) {
    ASSERT_TRUE(WriteFile(path, wrong).ok());
    const auto model = ModelLibrary::Open(bundle);
    EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(model.status().message(), HasSubstr("not the parameters of this model"));
  }
  ASSERT_EQ(std::remove(path.c_str()), 0);
  EXPECT_EQ(ModelLibrary::Open(bundle).status().code(), StatusCode::kNotFound);
}

TEST_F(Bundle, ALibraryThatIsCutOffIsRefusedBeforeItIsMapped) {
  const std::string bundle = Compiled("bundle");
  const std::string path = bundle + "/net.so";
  const std::string whole = *ReadFile(path);
  for (const std::size_t bytes : {whole.size() - 1, whole.size() / 2, std::size_t{100}}) {
    ASSERT_TRUE(WriteFile(path, whole.substr(0, bytes)).ok());
    const auto model = ModelLibrary::Open(bundle);
    EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument) << bytes;
    EXPECT_THAT(model.status().message(), HasSubstr("net.so is truncated")) << bytes;
  }
}

// A name must not end the comment that contains it, nor break the JSON.
TEST_F(Bundle, NamesOfAnyBytesLeaveHeaderAndIndexReadable) {
  Graph graph;
  graph.name = "a */ int b; /*\n";
  const int input = graph.AddInput("x */\n#error \xff", TensorType{{4}, kFloat32});
  const auto output = graph.AddOperator("\xfe/*", Operator{OpKind::kRelu, {}}, {input});
  ASSERT_TRUE(output.ok());
  graph.SetOutputs({*output});
  const std::string bundle = folder_->path() + "/bundle";
  const auto model = CompileBundle(std::move(graph), options_, bundle);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::string header = *ReadFile(bundle + "/net.h");
  const std::size_t end = header.find("*/");
  EXPECT_EQ(header.substr(end, 20), "*/\n\n#include <stdint") << header;
  EXPECT_EQ(header.find("/*"), header.rfind("/*", end)) << header;
  EXPECT_TRUE(ParseJson(*ReadFile(bundle + "/graph.json")).ok());
}

TEST_F(Bundle, ADamagedIndexIsRefused) {
  const std::string bundle = Compiled("bundle");
  for (const char* text : {"{", "[]", "{}", R"({"library":3})", R"({"library":"../net.so"})"}) {
    ASSERT_TRUE(WriteFile(bundle + "/graph.json", text).ok());
    const auto model = ModelLibrary::Open(bundle);
    EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(model.status().message(), HasSubstr("graph.json"));
  }
}

}  // namespace
}  // namespace tilewright
