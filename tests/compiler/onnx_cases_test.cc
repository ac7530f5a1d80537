// Small ONNX files that revealed faults: each is compiled, run on its inputs, and compared with its
// expected outputs, or with the reference if it has none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/run/run.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"
#include "tests/support/data_file.h"

namespace tilewright {
namespace {

// Slow kernels, weights shared by nodes, and 4-bit numbers are tested elsewhere.
bool IsLeftOut(const std::string& name) {
  if (name.starts_with("slow_") || name.starts_with("shared_weight_")) return true;
  for (const char* part : {"gatherblockq", "matmulnbits4", "q_int4_out"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

std::vector<std::string> ModelsIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator file(DataFile(folder), error), end;
       !error && file != end; file.increment(error)) {
    const std::string name = file->path().stem().string();
    const bool operation = name.starts_with("records_");  // not a case of the reader
    if (file->path().extension() == ".onnx" && !operation && !IsLeftOut(name)) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

DataType TypeNamed(const std::string& name) {
  for (DataType dtype : {kBool, kInt8, kInt16, kInt32, kInt64, kUInt8, kUInt16, kUInt32,
                         DataType{TypeCode::kUInt, 64}, kFloat16, kFloat32, kFloat64}) {
    if (DataTypeName(dtype) == name) return dtype;
  }
  ADD_FAILURE() << "element type " << name;
  return kFloat32;
}

Tensor TensorOf(const Json& json) {
  Tensor tensor(TensorType{json["shape"].get<std::vector<std::int64_t>>(),
                           TypeNamed(json["dtype"].get<std::string>())});
  for (std::size_t i = 0; i < json["values"].size(); ++i) {
    const Json& value = json["values"][i];
    if (tensor.dtype() == kInt64) {
      tensor.As<std::int64_t>()[i] = value.get<std::int64_t>();
    } else if (tensor.dtype().is_integer() && tensor.dtype().bits == 64) {
      tensor.As<std::uint64_t>()[i] = value.get<std::uint64_t>();
    } else if (value.is_string()) {
      tensor.Set(static_cast<std::int64_t>(i), std::stod(value.get<std::string>()));
    } else {
      tensor.Set(static_cast<std::int64_t>(i),
                 value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>());
    }
  }
  return tensor;
}

// Integers have to be equal. Floats are within 1e-4 of the root mean square, and for `precise`
// cases of the element itself. NaN and infinities are in the same positions.
void ExpectCloseTo(const Tensor& found, const Tensor& expected, bool precise) {
  ASSERT_EQ(found.type(), expected.type());
  if (!expected.dtype().is_float()) {
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), static_cast<std::size_t>(found.bytes())),
              0);
    return;
  }
  double squares = 0, finite = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    if (!std::isfinite(expected.At(i))) continue;
    squares += expected.At(i) * expected.At(i);
    ++finite;
  }
  const double rms = precise || finite == 0 ? 0 : std::sqrt(squares / finite);
  const double tolerance = expected.dtype() == kFloat16 ? 3e-3 : 1e-4;
  int bad = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double x = found.At(i), y = expected.At(i);
    const bool near = std::isnan(y) ? std::isnan(x)
                      : std::isfinite(y)
                          ? std::abs(x - y) <= tolerance * (rms + std::abs(y)) + 1e-30
                          : x == y;
    if (!near && ++bad == 1) ADD_FAILURE() << "element " << i << " is " << x << ", expected " << y;
  }
  EXPECT_EQ(bad, 0);
}

class CompiledCase : public testing::TestWithParam<std::string> {
 protected:
  Result<ModelLibrary> CompileIt(const std::string& path) {
    auto folder = ScopedTempDir::Create("tilewright-onnx-case");
    TW_RETURN_IF_ERROR(folder);
    folder_.emplace(*std::move(folder));
    auto graph = LoadGraph(path);
    TW_RETURN_IF_ERROR(graph);
    CompileOptions options;
    options.templates = &BuiltInTemplates();
    options.target = *Target::Parse("native");
    options.device = ProbeHostCpu();
    auto compiled = Compile(*std::move(graph), options, folder_->path() + "/model.so");
    TW_RETURN_IF_ERROR(compiled);
    return ModelLibrary::Open(compiled->library_path);
  }
  std::optional<ScopedTempDir> folder_;
};

class OnnxCases : public CompiledCase {};

TEST_P(OnnxCases, GiveWhatIsExpected) {
  const std::string path = DataFile("cases/" + GetParam());
  const auto text = ReadFile(path + ".json");
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto parsed = ParseJson(*text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  auto model = CompileIt(path + ".onnx");
  // Results that follow from values at run time may be rejected, with the node and advice.
  if (!model.ok() && GetParam().starts_with("refused_runtime")) {
    const std::string& message = model.status().message();
    EXPECT_THAT(message, testing::ContainsRegex("node [0-9]+ .*[(][A-Za-z]+[)]"));
    EXPECT_THAT(message, testing::AnyOf(testing::HasSubstr("--value "),
                                        testing::HasSubstr("export the model")));
    EXPECT_EQ(model.status().code(), StatusCode::kUnsupported);
    return;
  }
  ASSERT_TRUE(model.ok()) << model.status().message();
  std::vector<Tensor> inputs;
  for (const ModelValue& input : model->inputs()) {
    ASSERT_TRUE((*parsed)["inputs"].contains(input.name)) << input.name;
    inputs.push_back(TensorOf((*parsed)["inputs"][input.name]));
  }
  const auto outputs = model->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  if ((*parsed)["expected"].is_null()) return;
  ASSERT_EQ(outputs->size(), (*parsed)["expected"].size());
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    ExpectCloseTo((*outputs)[i], TensorOf((*parsed)["expected"][i]),
                  GetParam().find("precision") != std::string::npos);
  }
}

class OnnxRepros : public CompiledCase {};

TEST_P(OnnxRepros, GiveTheNumbersOfTheReference) {
  const std::string path = DataFile("repro/" + GetParam() + ".onnx");
  auto model = CompileIt(path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto graph = LoadGraph(path);
  ASSERT_TRUE(graph.ok());
  std::vector<Tensor> inputs;
  for (int id : graph->inputs()) {
    inputs.push_back(MakeSyntheticInput(graph->node(id).name, graph->node(id).type,
                                        SyntheticInputRule::kRandom));
  }
  auto report = Verify(*PartitionLike(*std::move(graph), *model), *model, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();
}

const auto kCaseName = [](const testing::TestParamInfo<std::string>& tested) {
  return tested.param;
};
INSTANTIATE_TEST_SUITE_P(Shared, OnnxCases, testing::ValuesIn(ModelsIn("cases")), kCaseName);
INSTANTIATE_TEST_SUITE_P(Shared, OnnxRepros, testing::ValuesIn(ModelsIn("repro")), kCaseName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxCases);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxRepros);

}  // namespace
}  // namespace tilewright
