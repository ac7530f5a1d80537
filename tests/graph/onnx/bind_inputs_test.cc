// Inputs of ONNX files with open (symbolic) dimensions, and the messages about them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/graph/ir/evaluate.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using onnx::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

// Negative: an open dimension with this name. Empty: an open dimension without a name.
struct OpenDim {
  std::int64_t size = -1;
  std::string name = {};
};

class OpenModel {
 public:
  OpenModel& Input(const std::string& name, const std::vector<OpenDim>& dims,
                   std::int32_t type = TensorProto::FLOAT) {
    model.Input(name, {}, type);
    auto& graph = *model.proto().mutable_graph();
    auto* shape = graph.mutable_input(graph.input_size() - 1)
                      ->mutable_type()
                      ->mutable_tensor_type()
                      ->mutable_shape();
    for (const OpenDim& dim : dims) {
      auto* added = shape->add_dim();
      if (dim.size >= 0) added->set_dim_value(dim.size);
      if (!dim.name.empty()) added->set_dim_param(dim.name);
    }
    return *this;
  }
  Result<Graph> Import(const BindingTexts& texts) const {
    auto sets = ParseBindings(texts);
    TW_RETURN_IF_ERROR(sets);
    LoadOptions options;
    options.bindings = std::move(sets->front());
    return ImportOnnx(model.Bytes(), "test", options);
  }
  std::string Message(const BindingTexts& texts) const { return Import(texts).status().message(); }

  OnnxBuilder model;
};

// y = x + w, both of [batch, n]; state [2, batch].
OpenModel Sum() {
  OpenModel open;
  open.Input("x", {{-1, "batch"}, {-1, "n"}}).Input("w", {{-1, "batch"}, {-1, "n"}});
  open.Input("state", {{2}, {-1, "batch"}});
  open.model.Output("y").Node("Add", {"x", "w"}, {"y"});
  return open;
}

std::vector<Ints> InputShapes(const Result<Graph>& graph) {
  std::vector<Ints> shapes;
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return shapes;
  for (int id : graph->inputs()) shapes.push_back(graph->node(id).type.shape);
  return shapes;
}

TEST(OnnxBind, ANameHasOneSizeWhereverItStands) {
  const OpenModel sum = Sum();
  EXPECT_THAT(InputShapes(sum.Import({{}, {"n=5", "batch=3"}, {}})),
              ElementsAre(Ints{3, 5}, Ints{3, 5}, Ints{2, 3}));
  EXPECT_THAT(InputShapes(sum.Import({{"w=4x7"}, {}, {}})),
              ElementsAre(Ints{4, 7}, Ints{4, 7}, Ints{2, 4}));
  const auto graph = sum.Import({{}, {"n=5"}, {}});
  EXPECT_THAT(InputShapes(graph), ElementsAre(Ints{1, 5}, Ints{1, 5}, Ints{2, 1}));
  EXPECT_THAT(
      graph->notes,
      ElementsAre("dimension 'batch' is open and read as 1, which --dim batch=SIZE changes"));
  EXPECT_THAT(graph->binding_options, ElementsAre("--dim n=5"));
}

TEST(OnnxBind, AFirstDimensionWithoutANameIsReadAs1WithANote) {
  OpenModel open;
  open.Input("x", {{-1, ""}, {5}}).Input("w", {{-1, "?"}, {5}});
  open.model.Output("y").Node("Add", {"x", "w"}, {"y"});
  const auto graph = open.Import({{"w=1x5"}, {}, {}});
  EXPECT_THAT(InputShapes(graph), ElementsAre(Ints{1, 5}, Ints{1, 5}));
  EXPECT_THAT(graph->notes, ElementsAre("dimension 0 of input 'x' is open and read as 1, which "
                                        "--shape x=SIZEx5 changes"));
}

TEST(OnnxBind, WhatStaysOpenIsNamedAllAtOnce) {
  OpenModel open = Sum();
  open.Input("z", {{3}, {-1, "?"}, {-1, ""}, {-1, "n"}}).Input("u", {{-1, "k k"}, {-1, "m'"}});
  EXPECT_EQ(open.Message({}),
            "graph input 'x': dimension 1 ('n'); graph input 'w': dimension 1 ('n'); graph input "
            "'z': dimension 1, dimension 2, dimension 3 ('n'); graph input 'u': dimension 1 "
            "('m''): no fixed size; give the sizes that the network is to run with: --dim n=SIZE "
            "--shape z=3xSIZExSIZExSIZE --dim 'm'\\''=SIZE'");
}

TEST(OnnxBind, NegativeSizesAreOpen) {
  OpenModel open;
  open.Input("x", {{-1, ""}, {3}});
  auto* dims = open.model.proto()
                   .mutable_graph()
                   ->mutable_input(0)
                   ->mutable_type()
                   ->mutable_tensor_type()
                   ->mutable_shape();
  dims->mutable_dim(0)->set_dim_value(-1);
  open.model.Output("y").Node("Neg", {"x"}, {"y"});
  EXPECT_THAT(InputShapes(open.Import({})), ElementsAre(Ints{1, 3}));
  EXPECT_THAT(InputShapes(open.Import({{"x=6x3"}, {}, {}})), ElementsAre(Ints{6, 3}));
}

TEST(OnnxBind, ContradictionsAreRefused) {
  const OpenModel sum = Sum();
  EXPECT_EQ(sum.Message({{"state=3x1"}, {"n=5"}, {}}),
            "--shape state=3x1: dimension 0 is 3, expected 2; the file declares 2x'batch'");
  EXPECT_EQ(sum.Message({{"x=4x5", "w=4x6"}, {}, {}}),
            "--shape x=4x5: dimension 1 ('n') is 5, but 6 by --shape w=4x6; the file declares "
            "'batch'x'n'");
  EXPECT_EQ(sum.Message({{"x=4x5"}, {"n=6"}, {}}),
            "--shape x=4x5: dimension 1 ('n') is 5, but 6 by --dim n=6; the file declares "
            "'batch'x'n'");
  EXPECT_EQ(sum.Message({{"x=4x5x1"}, {}, {}}),
            "--shape x=4x5x1: 3 dimensions, expected 2; the file declares 'batch'x'n'");
  EXPECT_THAT(sum.Message({{}, {"n=2147483648", "batch=2147483648"}, {}}), HasSubstr("2^40"));
}

TEST(OnnxBind, UnknownNamesAreRefused) {
  const OpenModel sum = Sum();
  EXPECT_EQ(sum.Message({{"sate=2x1"}, {}, {}}),
            "--shape sate: no such input; the inputs are x ('batch'x'n'), w ('batch'x'n'), state "
            "(2x'batch'); did you mean 'state'?");
  EXPECT_EQ(sum.Message({{}, {"bach=2"}, {}}),
            "--dim bach=2: no dimension has this name; the names are batch, n; did you "
            "mean 'batch'?");
  OpenModel fixed;
  fixed.Input("x", {{2}}).model.Output("y").Node("Add", {"x", "c"}, {"y"});
  fixed.model.Initializer("c", MakeTensor(kFloat32, {2}, {1, 2}));
  EXPECT_EQ(fixed.Message({{}, {"n=2"}, {}}),
            "--dim n=2: no dimension has this name; the dimensions have no names");
  EXPECT_EQ(fixed.Message({{}, {}, {"c=1,2"}}),
            "--value c: a constant of the file, no input; the inputs are x (2)");
}

TEST(OnnxBind, AnotherFormOfAModelMayLackNames) {
  LoadOptions options;
  options.bindings = std::move(ParseBindings({{"q=3"}, {"n=5", "m=6"}, {"r=1"}})->front());
  options.ignore_unknown_names = true;
  EXPECT_THAT(InputShapes(ImportOnnx(Sum().model.Bytes(), "test", options)),
              ElementsAre(Ints{1, 5}, Ints{1, 5}, Ints{2, 1}));
}

// y = reshape of x by `shape`, an int64 input with an open size.
OpenModel Reshaped() {
  OpenModel open;
  open.Input("x", {{6}}).Input("shape", {{-1, "rank"}}, TensorProto::INT64);
  open.model.Output("y").Node("Reshape", {"x", "shape"}, {"y"});
  return open;
}

TEST(OnnxBind, AValueTakesThePlaceOfItsInput) {
  const auto graph = Reshaped().Import({{}, {}, {"shape=2,-1"}});
  EXPECT_THAT(InputShapes(graph), ElementsAre(Ints{6}));
  EXPECT_EQ(graph->node(graph->outputs()[0]).type.shape, (Ints{2, 3}));
  EXPECT_THAT(graph->binding_options, ElementsAre("--value shape=2,-1"));
}

TEST(OnnxBind, AValueMayComeFromAFile) {
  LoadOptions options;
  Bindings::Value& value = options.bindings.values["shape"];
  value.text = "shape.npy";
  value.contents = MakeTensor(kInt64, {2}, {3, 2});
  const auto graph = ImportOnnx(Reshaped().model.Bytes(), "test", options);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->node(graph->outputs()[0]).type.shape, (Ints{3, 2}));
  value.contents = MakeTensor(kInt32, {2}, {3, 2});
  EXPECT_EQ(ImportOnnx(Reshaped().model.Bytes(), "test", options).status().message(),
            "graph input 'shape': --value shape=shape.npy: the file has int32[2], expected "
            "int64[2]");
}

TEST(OnnxBind, WrongValuesAreRefused) {
  EXPECT_EQ(Reshaped().Message({{}, {}, {"shape=2,x"}}),
            "graph input 'shape': --value shape=2,x: 'x' is not a valid int64");
  EXPECT_EQ(Reshaped().Message({{}, {"rank=3"}, {"shape=2,3"}}),
            "--value shape=2,3: dimension 0 ('rank') is 2, but 3 by --dim rank=3; the file "
            "declares 'rank'");
  EXPECT_THAT(Reshaped().Message({}),
              HasSubstr("it follows from input 'shape' (int64[1]): if that is the same in every "
                        "run, give it: --value shape=NUMBER"));
}

TEST(OnnxBind, AFloatValueKeepsItsContents) {
  OpenModel open;
  open.Input("x", {{2}}).Input("scale", {{}});
  open.model.proto()
      .mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->clear_dim();
  open.model.Output("y").Node("Mul", {"x", "scale"}, {"y"});
  auto graph = open.Import({{}, {}, {"scale=0.5"}});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kAllFloat);
  const Tensor x = MakeTensor(kFloat32, {2}, {1, 2});
  const auto y = EvaluateGraph(*graph, {&x, 1});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_THAT(ValuesOf(y->front()), ElementsAre(0.5, 1));
}

TEST(OnnxBind, RelayTextSaysItsSizesItself) {
  auto folder = ScopedTempDir::Create("bind");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/m.relay";
  ASSERT_TRUE(WriteFile(path,
                        "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n"
                        "  nn.relu(%x)\n}\n")
                  .ok());
  const auto message = [&](const BindingTexts& texts) {
    LoadOptions options;
    options.bindings = std::move(ParseBindings(texts)->front());
    return LoadGraph(path, options).status().message();
  };
  EXPECT_EQ(message({{"x=2"}, {}, {}}), "");
  EXPECT_THAT(message({{"x=3"}, {}, {}}),
              HasSubstr("--shape x=3: Relay text has fixed sizes: x=2"));
  EXPECT_THAT(message({{}, {"n=3"}, {}}),
              HasSubstr("--dim n=3: Relay text has no open dimensions"));
  EXPECT_THAT(message({{"x=2"}, {}, {"x=3,4"}}),
              HasSubstr("--value x=3,4: Relay text has no open dimensions"));
}

TEST(OnnxNames, AreShownWithoutControlCharacters) {
  OpenModel open;
  open.Input("x\nok", {{2}, {-1, "le\x1bngth"}})
      .model.Output("y\xe2\x80\xae")
      .Node("Relu", {"x\nok"}, {"y\xe2\x80\xae"});
  EXPECT_THAT(open.Message({}), HasSubstr("'x\\nok'"));
  BindingTexts texts;
  texts.dims = {"le\\x1bngth=4"};
  const auto graph = open.Import(texts);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->node(graph->inputs()[0]).name, "x\\nok");
  EXPECT_EQ(graph->node(graph->outputs()[0]).name, "y\\u202e");
  open.Input("x\\nok", {{4}});
  EXPECT_THAT(open.Message(texts), HasSubstr("two names are shown as 'x\\nok'"));
}

}  // namespace
}  // namespace tilewright
