// Features of files around the operators: external data, functions, branches, storage types,
// zero-size tensors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "src/base/files/file.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/onnx/storage_types.h"
#include "src/models/models.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

// y = x + w, where w [2] is in an external file.
class ExternalModel {
 public:
  explicit ExternalModel(const std::string& folder) : folder_(folder) {
    model_.Input("x", {2}).Output("y").Node("Add", {"x", "w"}, {"y"});
    tensor_ = model_.proto().mutable_graph()->add_initializer();
    tensor_->set_name("w");
    tensor_->set_data_type(TensorProto::FLOAT);
    tensor_->add_dims(2);
    tensor_->set_data_location(TensorProto::EXTERNAL);
  }
  ExternalModel& Entry(const std::string& key, const std::string& value) {
    auto* entry = tensor_->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
    return *this;
  }
  TensorProto& tensor() { return *tensor_; }
  Result<Graph> Load() {
    EXPECT_TRUE(WriteFile(folder_ + "/m.onnx", model_.Bytes()).ok());
    return LoadGraph(folder_ + "/m.onnx");
  }
  std::string Message() { return Load().status().message(); }

 private:
  std::string folder_;
  OnnxBuilder model_;
  TensorProto* tensor_;
};

class OnnxExternal : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScopedTempDir::Create("external");
    ASSERT_TRUE(made.ok());
    folder_.emplace(*std::move(made));
    path_ = folder_->path() + "/model";
    std::filesystem::create_directories(path_ + "/sub");
    const float numbers[] = {1, 2, 3, 4};
    const std::string bytes(reinterpret_cast<const char*>(numbers), sizeof numbers);
    ASSERT_TRUE(WriteFile(path_ + "/w.bin", bytes).ok());
    ASSERT_TRUE(WriteFile(path_ + "/sub/w.bin", bytes).ok());
    ASSERT_TRUE(WriteFile(folder_->path() + "/secret", bytes).ok());
  }
  std::optional<ScopedTempDir> folder_;
  std::string path_;
};

TEST_F(OnnxExternal, ReadsFromTheModelsFolder) {
  for (const char* location : {"w.bin", "sub/w.bin", "./sub//w.bin", "link"}) {
    std::filesystem::remove(path_ + "/link");
    std::filesystem::create_symlink("sub/w.bin", path_ + "/link");
    ExternalModel model(path_);
    model.Entry("location", location).Entry("offset", "4").Entry("length", "8");
    auto graph = model.Load();
    ASSERT_TRUE(graph.ok()) << location << ": " << graph.status().message();
    std::vector<Tensor> inputs;
    inputs.push_back(MakeTensor(kFloat32, {2}, {10, 20}));
    auto outputs = EvaluateGraph(*graph, inputs);
    ASSERT_TRUE(outputs.ok());
    EXPECT_THAT(ValuesOf((*outputs)[0]), ElementsAre(12, 23));
  }
}

TEST_F(OnnxExternal, ReadsBehindTwoGigabytes) {
  constexpr std::int64_t kOffset = (std::int64_t{5} << 30) + 4;
  std::filesystem::resize_file(path_ + "/w.bin", kOffset + 8);  // sparse
  auto graph = ExternalModel(path_)
                   .Entry("location", "w.bin")
                   .Entry("offset", std::to_string(kOffset))
                   .Load();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
}

TEST_F(OnnxExternal, StaysInTheModelsFolder) {
  std::filesystem::create_symlink("../secret", path_ + "/out");
  std::filesystem::create_symlink("..", path_ + "/up");
  std::filesystem::create_symlink(folder_->path() + "/secret", path_ + "/absolute");
  const std::string absolute = folder_->path() + "/secret";
  for (const auto& [location, part] :
       {std::pair<std::string, const char*>("../secret", "leads out of the model's directory"),
        {"sub/../../secret", "leads out of the model's directory"},
        {absolute, "is an absolute name"},
        {"out", "is a symbolic link that leads out"},
        {"up/secret", "is a symbolic link that leads out"},
        {"absolute", "is a symbolic link that leads out"},
        {std::string("w.bin\0.txt", 10), "has a zero byte"},
        {"none.bin", "is not in the model's directory"},
        {"sub", "is not a regular file"},
        {"", "external_data names no file"}}) {
    EXPECT_THAT(ExternalModel(path_).Entry("location", location).Message(), HasSubstr(part));
  }
  std::filesystem::remove(path_ + "/w.bin");
  ASSERT_EQ(::mkfifo((path_ + "/w.bin").c_str(), 0600), 0);
  EXPECT_THAT(ExternalModel(path_).Entry("location", "w.bin").Message(),
              HasSubstr("is not a regular file"));
}

TEST_F(OnnxExternal, ChecksOffsetsAndLengths) {
  const auto message = [&](const char* key, const char* value) {
    return ExternalModel(path_).Entry("location", "w.bin").Entry(key, value).Message();
  };
  EXPECT_THAT(message("offset", "12"), HasSubstr("has 16 bytes, expected 8 from offset 12"));
  EXPECT_THAT(message("offset", "9223372036854775807"), HasSubstr("has 16 bytes"));
  EXPECT_THAT(message("offset", "-4"), HasSubstr("external offset is '-4'"));
  EXPECT_THAT(message("offset", "18446744073709551616"), HasSubstr("expected a number of bytes"));
  EXPECT_THAT(message("offset", "0x4"), HasSubstr("external offset is '0x4'"));
  EXPECT_THAT(message("length", "12"), HasSubstr("external length is 12 bytes, its shape needs 8"));
  EXPECT_THAT(message("location", "other"), HasSubstr("has 'location' twice"));
}

// Adds a function y = Scaled(x; by): y = Mul(x, Constant(by)) + Inner(x), which calls another one.
onnx::FunctionProto* AddFunction(OnnxBuilder& model, const std::string& name, std::int64_t opset) {
  auto* function = model.proto().add_functions();
  function->set_name(name);
  function->set_domain("local");
  function->add_input("x");
  function->add_output("y");
  auto* import = function->add_opset_import();
  import->set_version(opset);
  return function;
}

onnx::NodeProto* AddNode(onnx::FunctionProto* function, const std::string& op,
                         const Strings& inputs, const std::string& output,
                         const std::string& domain = "") {
  auto* node = function->add_node();
  node->set_op_type(op);
  node->set_domain(domain);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  return node;
}

TEST(OnnxFunctions, AreExpandedWithTheirAttributes) {
  OnnxBuilder model(18);
  auto* outer = AddFunction(model, "Outer", 18);
  outer->add_attribute("by");
  AddNode(outer, "Inner", {"x"}, "t", "local");
  auto* constant = AddNode(outer, "Constant", {}, "c")->add_attribute();
  constant->set_name("value_float");
  constant->set_type(AttributeProto::FLOAT);
  constant->set_ref_attr_name("by");
  AddNode(outer, "Mul", {"t", "c"}, "y");
  // In opset 12, ReduceSum has its axes in an attribute.
  auto* inner = AddFunction(model, "Inner", 12);
  auto* axes = AddNode(inner, "ReduceSum", {"x"}, "y")->add_attribute();
  axes->set_name("axes");
  axes->set_type(AttributeProto::INTS);
  axes->add_ints(1);
  // The names in the bodies ("t", "c") are separate from those outside.
  model.Input("t", {2, 2}).Output("y");
  model.Node("Outer", {"t"}, {"c"}, "local").Float("by", 3);
  model.Node("Outer", {"c"}, {"y"}, "local").Float("by", 10);
  const Tensor x = MakeTensor(kFloat32, {2, 2}, {1, 2, 3, 4});
  const Tensor y = EvaluateModel(model, {&x});
  EXPECT_THAT(ValuesOf(y), ElementsAre(90, 210));
}

// A generated int8 model contains a function that defines Tilewright's operator for other programs.
// The import uses its own definition of the operator, whatever a function of that name contains.
TEST(OnnxFunctions, OfOwnOperatorsAreForOtherPrograms) {
  const auto bytes = MakeModelOnnx("squeezenet1_1", {.int8 = true});
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  onnx::ModelProto generated;
  ASSERT_TRUE(generated.ParseFromString(*bytes));
  ASSERT_EQ(generated.functions_size(), 1);
  const auto result = [](onnx::FunctionProto function, const std::string& domain) {
    function.set_domain(domain);
    OnnxBuilder model(14);
    *model.proto().add_functions() = std::move(function);
    model.Input("x", {6}, onnx::TensorProto::INT32).Output("y");
    model.Initializer("n", MakeTensor(kInt32, {}, {3}));
    model.Node("RightShift", {"x", "n"}, {"y"}, domain);
    const Tensor x = MakeTensor(kInt32, {6}, {-17, -16, -1, 0, 15, 16});
    return ValuesOf(EvaluateModel(model, {&x}));
  };
  onnx::FunctionProto function = generated.functions(0);
  EXPECT_THAT(result(function, "local"), ElementsAre(-3, -2, -1, 0, 1, 2));
  function.mutable_node(0)->mutable_attribute(0)->mutable_t()->set_int32_data(0, 4);
  EXPECT_THAT(result(function, "ai.tilewright"), ElementsAre(-3, -2, -1, 0, 1, 2));
}

TEST(OnnxFunctions, ThatNeverEndAreRefused) {
  OnnxBuilder model(18);
  AddNode(AddFunction(model, "Outer", 18), "Outer", {"x"}, "y", "local");
  model.Input("x", {2}).Output("y").Node("Outer", {"x"}, {"y"}, "local");
  EXPECT_THAT(model.Import().status().message(), HasSubstr("more than 64 deep"));
}

TEST(OnnxFunctions, ThatMultiplyAreRefused) {
  OnnxBuilder model(18);
  for (int i = 0; i < 40; ++i) {
    auto* function = AddFunction(model, "F" + std::to_string(i), 18);
    const std::string next = i == 39 ? "Relu" : "F" + std::to_string(i + 1);
    const char* domain = i == 39 ? "" : "local";
    AddNode(function, next, {"x"}, "t", domain);
    AddNode(function, next, {"t"}, "y", domain);
  }
  model.Input("x", {2}).Output("y").Node("F0", {"x"}, {"y"}, "local");
  EXPECT_THAT(model.Import().status().message(), HasSubstr("more than 200000 nodes in total"));
}

TEST(OnnxFunctions, NameWhatIsWrongInThem) {
  OnnxBuilder model(18);
  auto* function = AddFunction(model, "Outer", 18);
  AddNode(function, "Wobble", {"x"}, "y");
  model.Input("x", {2}).Output("y").Node("Outer", {"x"}, {"y"}, "local");
  EXPECT_EQ(model.Import().status().message(), "1 operator is not supported: Wobble (1 node)");
  function->mutable_node(0)->set_op_type("Relu");
  function->mutable_opset_import(0)->set_version(99);
  EXPECT_EQ(model.Import().status().message(),
            "node 0 (Outer) making 'y': function 'Outer': operator set 99, expected 1 to 28");
  function->mutable_opset_import(0)->set_version(18);
  model.Int("speed", 1);
  EXPECT_EQ(model.Import().status().message(),
            "node 0 (Outer) making 'y': attribute speed is not defined for function 'Outer'");
  model.proto().mutable_graph()->mutable_node(0)->clear_attribute();
  *AddNode(function, "Relu", {"x"}, "")->mutable_output(0) = std::string("t\0t", 3);
  EXPECT_THAT(model.Import().status().message(), HasSubstr("has a zero byte"));
}

// y = If(condition): x + w (then; w is a constant of the branch) or x (else).
void AddIf(OnnxBuilder& model, const std::string& condition) {
  model.Node("If", {condition}, {"y"});
  auto* node = model.proto().mutable_graph()->mutable_node(model.proto().graph().node_size() - 1);
  auto* then = node->add_attribute();
  then->set_name("then_branch");
  then->set_type(AttributeProto::GRAPH);
  auto* add = then->mutable_g()->add_node();
  add->set_op_type("Add");
  add->add_input("x");
  add->add_input("w");
  add->add_output("r");
  auto* w = then->mutable_g()->add_initializer();
  w->set_name("w");
  w->set_data_type(TensorProto::FLOAT);
  w->add_dims(1);
  w->add_float_data(5);
  then->mutable_g()->add_output()->set_name("r");
  auto* otherwise = node->add_attribute();
  otherwise->set_name("else_branch");
  otherwise->set_type(AttributeProto::GRAPH);
  otherwise->mutable_g()->add_output()->set_name("x");
}

TEST(OnnxIf, TakesTheBranchThatIsKnown) {
  for (const bool taken : {false, true}) {
    OnnxBuilder model(16);
    model.Input("x", {2}).Output("y").Initializer("c", MakeTensor(kBool, {}, {taken ? 1.0 : 0.0}));
    AddIf(model, "c");
    const Tensor x = MakeTensor(kFloat32, {2}, {1, 2});
    const Tensor y = EvaluateModel(model, {&x});
    EXPECT_EQ(y.At(0), taken ? 6 : 1);
  }
}

TEST(OnnxIf, FollowsConditionsFromShapes) {
  OnnxBuilder model(16);
  model.Input("x", {2}).Output("y").Initializer("two", MakeTensor(kInt64, {1}, {2}));
  AddIf(model, "c");  // before the node that computes its condition
  model.Node("Shape", {"x"}, {"s"}).Node("Equal", {"s", "two"}, {"c"});
  const Tensor x = MakeTensor(kFloat32, {2}, {1, 2});
  const Tensor y = EvaluateModel(model, {&x});
  EXPECT_THAT(ValuesOf(y), ElementsAre(6, 7));
}

TEST(OnnxIf, WaitsForWhatItsBranchesRead) {
  OnnxBuilder model(16);
  model.Input("z", {2}).Output("y").Initializer("c", MakeTensor(kBool, {}, {1}));
  AddIf(model, "c");
  model.Node("Neg", {"z"}, {"x"});
  const Tensor z = MakeTensor(kFloat32, {2}, {1, 2});
  const Tensor y = EvaluateModel(model, {&z});
  EXPECT_THAT(ValuesOf(y), ElementsAre(4, 3));
}

TEST(OnnxIf, ComputedConditionsAreRefused) {
  OnnxBuilder model(16);
  model.Input("x", {2}).Input("c", {}, TensorProto::BOOL).Output("y");
  AddIf(model, "c");
  EXPECT_THAT(model.Import().status().message(),
              HasSubstr("its condition (c) is computed at run time"));
}

// A scan over the rows of a [3,2] from the last to the first and over the columns of b [2,3]: s +=
// a * b + 2, where s starts as z. Results: the last s; s + c, stacked along dimension 1; s before
// each step, from the last to the first, along dimension 0.
OnnxBuilder ScanModel(std::int64_t opset, const std::string& output) {
  OnnxBuilder model(opset);
  model.Input("a", {3, 2}).Input("b", {2, 3}).Output(output);
  model.Initializer("z", MakeTensor(kFloat32, {2}, {10, 20}));
  model.Initializer("c", MakeTensor(kFloat32, {2}, {0, 1}));
  model.Node("Scan", {"z", "a", "b"}, {"last", "sums", "before"}).Int("num_scan_inputs", 2);
  model.IntList("scan_input_axes", {0, -1}).IntList("scan_input_directions", {1, 0});
  model.IntList("scan_output_axes", {1, 0}).IntList("scan_output_directions", {0, 1});
  auto* attribute = model.proto().mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("body");
  attribute->set_type(AttributeProto::GRAPH);
  auto& body = *attribute->mutable_g();
  for (const char* name : {"s", "row", "column"}) body.add_input()->set_name(name);
  auto* two = body.add_initializer();
  two->set_name("two");
  two->set_data_type(TensorProto::FLOAT);
  two->add_float_data(2);
  AddTo(body, "Mul", {"row", "column"}, "p");
  AddTo(body, "Add", {"p", "two"}, "q");
  AddTo(body, "Add", {"s", "q"}, "t");
  AddTo(body, "Add", {"t", "c"}, "u");
  for (const char* name : {"t", "u", "s"}) body.add_output()->set_name(name);
  return model;
}

TEST(OnnxScan, IsItsBodyForEachStep) {
  const Tensor a = MakeTensor(kFloat32, {3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor b = MakeTensor(kFloat32, {2, 3}, {1, 10, 100, 2, 20, 200});
  for (const std::int64_t opset : {9, 16}) {
    SCOPED_TRACE(opset);
    const auto run = [&](const std::string& output) {
      return ValuesOf(EvaluateModel(ScanModel(opset, output), {&a, &b}));
    };
    // The steps add 7 14, 32 82, 102 402.
    EXPECT_THAT(run("last"), ElementsAre(151, 518));
    EXPECT_THAT(run("sums"), ElementsAre(17, 49, 151, 35, 117, 519));
    EXPECT_THAT(run("before"), ElementsAre(49, 116, 17, 34, 10, 20));
  }
}

TEST(OnnxScan, OfOtherSizesIsRefused) {
  EXPECT_THAT(ScanModel(8, "last").Import().status().message(),
              HasSubstr("Scan of operator set 8 (over batches), expected one of set 9 or later"));
  OnnxBuilder model = ScanModel(16, "last");
  model.proto()
      .mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_value(4);
  EXPECT_THAT(model.Import().status().message(),
              HasSubstr("input 2 has 4 elements to take, expected 3"));
  model = ScanModel(16, "last");
  auto* node = model.proto().mutable_graph()->mutable_node(0);
  node->mutable_attribute(0)->set_i(4);
  EXPECT_THAT(model.Import().status().message(),
              HasSubstr("attribute num_scan_inputs is 4, expected 1 to 3"));
  node->mutable_attribute(0)->set_i(1);
  EXPECT_FALSE(model.Import().ok());
  model = ScanModel(16, "last");
  auto* body = model.proto().mutable_graph()->mutable_node(0)->mutable_attribute(5)->mutable_g();
  body->mutable_input()->RemoveLast();
  EXPECT_THAT(model.Import().status().message(), HasSubstr("its body has 2 inputs"));
  model = ScanModel(16, "last");
  body = model.proto().mutable_graph()->mutable_node(0)->mutable_attribute(5)->mutable_g();
  body->mutable_node(0)->set_doc_string(std::string(std::size_t{90} << 20, ' '));
  EXPECT_THAT(model.Import().status().message(), HasSubstr("3 steps of nodes of 94371"));
  body->mutable_node(0)->set_op_type("Bernoulli");
  EXPECT_THAT(model.Import().status().message(),
              HasSubstr("operator is not supported: Bernoulli (1 node)"));
}

double Decoded(std::int32_t code, std::uint32_t bits) {
  return StorageValue(*StorageTypeOf(code), bits);
}

TEST(OnnxStoredTypes, AreDecodedExactly) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Decoded(16, 0x3FC0), 1.5);
  EXPECT_EQ(Decoded(16, 0xFF80), -infinite);
  EXPECT_TRUE(std::isnan(Decoded(16, 0x7FC0)));
  EXPECT_EQ(Decoded(16, 0x0001), std::ldexp(1, -133));
  EXPECT_EQ(Decoded(17, 0x7E), 448);
  EXPECT_EQ(Decoded(17, 0x01), 1.953125e-3);
  EXPECT_EQ(Decoded(17, 0x78), 256);
  EXPECT_TRUE(std::isnan(Decoded(17, 0xFF)));
  EXPECT_EQ(Decoded(18, 0x7F), 240);
  EXPECT_TRUE(std::isnan(Decoded(18, 0x80)));
  EXPECT_EQ(Decoded(18, 0x01), 9.765625e-4);
  EXPECT_EQ(Decoded(19, 0x7B), 57344);
  EXPECT_EQ(Decoded(19, 0xFC), -infinite);
  EXPECT_TRUE(std::isnan(Decoded(19, 0x7D)));
  EXPECT_EQ(Decoded(20, 0xFF), -57344);
  EXPECT_TRUE(std::isnan(Decoded(20, 0x80)));
  EXPECT_EQ(Decoded(21, 0xF), 15);
  EXPECT_EQ(Decoded(22, 0xF), -1);
  EXPECT_EQ(Decoded(22, 0x8), -8);
  EXPECT_EQ(Decoded(23, 0x1), 0.5);
  EXPECT_EQ(Decoded(23, 0xF), -6);
  EXPECT_EQ(Decoded(24, 0x00), std::ldexp(1, -127));
  EXPECT_TRUE(std::isnan(Decoded(24, 0xFF)));
  EXPECT_EQ(Decoded(25, 0x3), 3);
  EXPECT_EQ(Decoded(26, 0x2), -2);
}

TensorProto& AddStored(OnnxBuilder& model, std::int32_t code, Ints shape) {
  auto* tensor = model.proto().mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(code);
  for (std::int64_t extent : shape) tensor->add_dims(extent);
  return *tensor;
}

TEST(OnnxStoredTypes, AreCast) {
  OnnxBuilder model(21);
  model.Input("x", {2}).Output("y");
  AddStored(model, 16, {1, 2}).set_raw_data(std::string("\xC0\x3F\x80\xBF", 4));
  model.Initializer("s", MakeTensor(kInt64, {1}, {2}));
  model.Node("Reshape", {"w", "s"}, {"r"}).Node("Cast", {"r"}, {"f"}).Int("to", TensorProto::FLOAT);
  model.Node("Add", {"x", "f"}, {"y"});
  const Tensor x = MakeTensor(kFloat32, {2}, {0, 0});
  const Tensor y = EvaluateModel(model, {&x});
  EXPECT_THAT(ValuesOf(y), ElementsAre(1.5, -1));
}

TEST(OnnxStoredTypes, AreDequantized) {
  OnnxBuilder model(21);
  model.Input("x", {3}).Output("y").Initializer("s", MakeTensor(kFloat32, {}, {0.5}));
  TensorProto& tensor = AddStored(model, 22, {3});  // 1, -2, 7
  tensor.add_int32_data(0xE1);
  tensor.add_int32_data(0x07);
  model.Node("DequantizeLinear", {"w", "s"}, {"f"}).Node("Add", {"x", "f"}, {"y"});
  const Tensor x = MakeTensor(kFloat32, {3}, {0, 0, 0});
  const Tensor y = EvaluateModel(model, {&x});
  EXPECT_THAT(ValuesOf(y), ElementsAre(0.5, -1, 3.5));
  tensor.clear_int32_data();
  tensor.set_data_type(19);
  tensor.set_raw_data("\x3C\xBC\x40");  // 1, -1, 2
  const Tensor z = EvaluateModel(model, {&x});
  EXPECT_THAT(ValuesOf(z), ElementsAre(0.5, -0.5, 1));
}

TEST(OnnxStoredTypes, AreNotComputedWith) {
  OnnxBuilder model(21);
  model.Input("x", {2}).Output("y");
  AddStored(model, 17, {2}).set_raw_data(std::string(2, '\0'));
  model.Node("Add", {"x", "w"}, {"y"});
  EXPECT_EQ(model.Import().status().message(),
            "node 0 (Add) making 'y': input 1 (w) has element type float8e4m3fn, which is a "
            "storage type; expected a Cast or DequantizeLinear before it");
  OnnxBuilder output(21);
  output.Output("y");
  AddStored(output, 17, {1}).set_raw_data(std::string(1, '\0'));
  output.Node("Identity", {"w"}, {"y"});
  EXPECT_THAT(output.Import().status().message(), HasSubstr("has element type float8e4m3fn"));
  OnnxBuilder input(21);
  input.Input("x", {2}, 17).Output("y").Node("Relu", {"x"}, {"y"});
  EXPECT_THAT(input.Import().status().message(),
              HasSubstr("element type float8e4m3fn is supported in constants only"));
}

TEST(OnnxStoredTypes, AreComputedWithIfBFloat16) {
  OnnxBuilder model(21);
  model.Input("x", {2}, 16).Output("y");
  AddStored(model, 16, {2}).set_raw_data(std::string("\x80\x3f\x00\x40", 4));  // 1, 2
  model.Node("Add", {"x", "w"}, {"y"});
  const auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->precision, Precision::kAsBFloat16);
  const Tensor x = MakeTensor(kFloat32, {2}, {0.5, -3});
  EXPECT_THAT(ValuesOf(EvaluateModel(model, {&x})), ElementsAre(1.5, -1));

  OnnxBuilder constants(21);
  constants.Input("x", {2}).Output("y");
  AddStored(constants, 16, {2}).set_raw_data(std::string(4, '\0'));
  constants.Node("Cast", {"w"}, {"wide"}).Int("to", 1).Node("Add", {"x", "wide"}, {"y"});
  EXPECT_EQ(constants.Import()->precision, Precision::kAsInModel);
}

// y = op(x, …), where x is zero-size.
Tensor OfNothing(const std::string& op, Ints shape, const std::vector<Tensor>& others,
                 const std::function<void(OnnxBuilder&)>& attributes = {}) {
  OnnxBuilder model(18);
  const Tensor x(TensorType{shape, kFloat32});
  model.Input("x", shape).Output("y");
  Strings inputs = {"x"};
  for (const Tensor& other : others) {
    inputs.push_back("w" + std::to_string(inputs.size()));
    model.Initializer(inputs.back(), other);
  }
  model.Node(op, inputs, {"y"});
  if (attributes) attributes(model);
  return EvaluateModel(model, {&x});
}

std::vector<Tensor> With(Tensor tensor) {
  std::vector<Tensor> list;
  list.push_back(std::move(tensor));
  return list;
}

TEST(OnnxEmpty, OperatorsOnTensorsWithoutElements) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_THAT(OfNothing("Relu", {2, 0}, {}).shape(), ElementsAre(2, 0));
  EXPECT_THAT(OfNothing("Add", {2, 0}, With(MakeTensor(kFloat32, {2, 1}, {1, 2}))).shape(),
              ElementsAre(2, 0));
  EXPECT_THAT(OfNothing("Flatten", {2, 0, 3}, {}).shape(), ElementsAre(2, 0));
  EXPECT_THAT(OfNothing("Tile", {0, 3}, With(MakeTensor(kInt64, {2}, {5, 2}))).shape(),
              ElementsAre(0, 6));
  EXPECT_THAT(OfNothing("Reshape", {0, 3}, With(MakeTensor(kInt64, {2}, {3, 0})),
                        [](OnnxBuilder& m) { m.Int("allowzero", 1); })
                  .shape(),
              ElementsAre(3, 0));
  EXPECT_THAT(ValuesOf(OfNothing("ReduceSum", {2, 0}, With(MakeTensor(kInt64, {1}, {1})))),
              ElementsAre(0, 0));
  EXPECT_THAT(ValuesOf(OfNothing("ReduceProd", {2, 0}, With(MakeTensor(kInt64, {1}, {1})))),
              ElementsAre(1, 1));
  EXPECT_THAT(ValuesOf(OfNothing("ReduceMax", {1, 0}, With(MakeTensor(kInt64, {1}, {1})))),
              ElementsAre(-infinite));
  EXPECT_THAT(ValuesOf(OfNothing("ReduceLogSumExp", {1, 0}, With(MakeTensor(kInt64, {1}, {1})))),
              ElementsAre(-infinite));
  EXPECT_THAT(ValuesOf(OfNothing("MatMul", {2, 0}, With(Tensor(TensorType{{0, 2}, kFloat32})))),
              ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(OfNothing("MatMul", {3, 0, 4}, With(MakeRange(kFloat32, {4, 5}))).shape(),
              ElementsAre(3, 0, 5));
  EXPECT_THAT(ValuesOf(OfNothing("Pad", {0}, With(MakeTensor(kInt64, {2}, {1, 1})))),
              ElementsAre(0, 0));
}

TEST(OnnxEmpty, ConcatLeavesThemOut) {
  EXPECT_THAT(ValuesOf(OfNothing("Concat", {0, 2}, With(MakeTensor(kFloat32, {1, 2}, {1, 2})),
                                 [](OnnxBuilder& m) { m.Int("axis", 0); })),
              ElementsAre(1, 2));
}

TEST(OnnxEmpty, SlicesAndPartsOfNothing) {
  OnnxBuilder model(13);
  model.Input("x", {4}).Output("y").Output("z");
  model.Initializer("sizes", MakeTensor(kInt64, {2}, {0, 4}));
  model.Node("Split", {"x", "sizes"}, {"z", "rest"}).Int("axis", 0);
  model.Initializer("two", MakeTensor(kInt64, {1}, {2}));
  model.Node("Slice", {"rest", "two", "two"}, {"none"});
  model.Node("Concat", {"none", "z", "x"}, {"y"}).Int("axis", 0);
  const Tensor x = MakeTensor(kFloat32, {4}, {1, 2, 3, 4});
  const Tensor y = EvaluateModel(model, {&x});
  EXPECT_THAT(ValuesOf(y), ElementsAre(1, 2, 3, 4));
}

TEST(OnnxEmpty, OthersAreRefusedByName) {
  OnnxBuilder model(13);
  model.Input("x", {0, 1, 4, 4}).Output("y").Node("GlobalAveragePool", {"x"}, {"y"});
  EXPECT_EQ(model.Import().status().message(),
            "node 0 (GlobalAveragePool) making 'y': input 0 (x) is float32[0,1,4,4], which is "
            "zero-size; this operator does not support zero-size inputs");
}

}  // namespace
}  // namespace tilewright
