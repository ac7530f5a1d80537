// Operators that read or write at positions given by indices, and TopK: the examples of the ONNX
// documentation, and loops that define each operator element by element.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "src/graph/ir/evaluate.h"
#include "src/graph/onnx/proto.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

namespace def = onnx_definitions;
using def::Array;

constexpr double kNanValue = std::numeric_limits<double>::quiet_NaN();

// y = op(data, indices, updates…). The indices are in the file or are an input.
class PlacesModel {
 public:
  PlacesModel(const std::string& op, const Array& data, const Array& indices, bool known,
              DataType dtype = kInt64)
      : model_(18) {
    model_.Output("y").Input("data", data.shape);
    given_.push_back(TensorOf(data));
    if (known) {
      model_.Initializer("indices", TensorOf(indices, dtype));
    } else {
      model_.Input("indices", indices.shape, OnnxTypeOf(dtype));
      given_.push_back(TensorOf(indices, dtype));
    }
    model_.Node(op, {"data", "indices"}, {"y"});
  }

  PlacesModel& Updates(const Array& updates) {
    model_.Input("updates", updates.shape);
    model_.proto().mutable_graph()->mutable_node(0)->add_input("updates");
    given_.push_back(TensorOf(updates));
    return *this;
  }
  PlacesModel& Int(const std::string& name, std::int64_t value) {
    model_.Int(name, value);
    return *this;
  }
  PlacesModel& Reduction(const std::string& reduction) {
    model_.Text("reduction", reduction);
    return *this;
  }
  Tensor Run() const {
    std::vector<const Tensor*> inputs;
    for (const Tensor& tensor : given_) inputs.push_back(&tensor);
    return EvaluateModel(model_, inputs);
  }

 private:
  OnnxBuilder model_;
  std::vector<Tensor> given_;
};

class OnnxPlaces : public testing::TestWithParam<bool> {};  // whether the indices are in the file

INSTANTIATE_TEST_SUITE_P(Indices, OnnxPlaces, testing::Bool(), [](const auto& tested) {
  return std::string(tested.param ? "Known" : "Computed");
});

TEST_P(OnnxPlaces, GatherElementsAsDocumented) {
  const bool known = GetParam();
  ExpectEqual(PlacesModel("GatherElements", {{2, 2}, {1, 2, 3, 4}}, {{2, 2}, {0, 0, 1, 0}}, known)
                  .Int("axis", 1)
                  .Run(),
              {{2, 2}, {1, 1, 4, 3}});
  const Array data{{3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  ExpectEqual(
      PlacesModel("GatherElements", data, {{2, 3}, {1, 2, 0, 2, 0, 0}}, known, kInt32).Run(),
      {{2, 3}, {4, 8, 3, 7, 2, 3}});
  ExpectEqual(PlacesModel("GatherElements", data, {{2, 3}, {-1, -2, 0, -2, 0, 0}}, known)
                  .Int("axis", -2)
                  .Run(),
              {{2, 3}, {7, 5, 3, 4, 2, 3}});
}

TEST_P(OnnxPlaces, GatherElementsAlongEveryDimension) {
  const Array data = Array::Made({2, 3, 4, 3}, 5, -99, 99);
  for (std::size_t axis = 0; axis < 4; ++axis) {
    for (const Ints& shape : {Ints{2, 3, 4, 3}, Ints{1, 2, 3, 3}, Ints{2, 1, 1, 2}}) {
      Ints at = shape;
      at[axis] = 5;  // more than the data has
      const auto size = static_cast<double>(data.shape[axis]);
      const Array indices = Array::Made(at, 6, -size, size - 1);
      Array expected = Array::Filled(at);
      def::ForEach(at, [&](const Ints& i) {
        Ints from = i;
        from[axis] = static_cast<std::int64_t>(indices.At(i) + (indices.At(i) < 0 ? size : 0));
        expected.At(i) = data.At(from);
      });
      PlacesModel model("GatherElements", data, indices, GetParam());
      ExpectEqual(model.Int("axis", static_cast<std::int64_t>(axis)).Run(), expected);
    }
  }
}

TEST(OnnxPlacesComputed, TakeTheNearestElementWhereTheyAreOutOfRange) {
  const Array indices{{2, 2}, {-3, 2, 1e12, -1e12}};
  ExpectEqual(PlacesModel("GatherElements", {{2, 2}, {1, 2, 3, 4}}, indices, false).Run(),
              {{2, 2}, {1, 4, 3, 2}});
}

TEST_P(OnnxPlaces, GatherNdAsDocumented) {
  const bool known = GetParam();
  const Array matrix{{2, 2}, {0, 1, 2, 3}}, cube{{2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}};
  const auto run = [&](const Array& data, const Array& indices, std::int64_t batch = 0) {
    return PlacesModel("GatherND", data, indices, known).Int("batch_dims", batch).Run();
  };
  ExpectEqual(run(matrix, {{2, 2}, {0, 0, 1, 1}}), {{2}, {0, 3}});
  ExpectEqual(run(matrix, {{2, 1}, {1, 0}}), {{2, 2}, {2, 3, 0, 1}});
  ExpectEqual(run(cube, {{2, 2}, {0, 1, 1, 0}}), {{2, 2}, {2, 3, 4, 5}});
  ExpectEqual(run(cube, {{2, 1, 2}, {0, 1, 1, 0}}), {{2, 1, 2}, {2, 3, 4, 5}});
  ExpectEqual(run(cube, {{2, 1}, {1, 0}}, 1), {{2, 2}, {2, 3, 4, 5}});
  ExpectEqual(run(cube, {{3}, {1, -2, -1}}), {{}, {5}});
  ExpectEqual(run(cube, {{2, 2, 1}, {1, -1, 0, -2}}, 2), {{2, 2}, {1, 3, 4, 6}});
}

TEST_P(OnnxPlaces, ScatterElementsAsDocumented) {
  const bool known = GetParam();
  const auto run = [&](const Array& data, const Array& indices, const Array& updates,
                       std::int64_t axis, const char* reduction = "none") {
    PlacesModel model("ScatterElements", data, indices, known);
    return model.Updates(updates).Int("axis", axis).Reduction(reduction).Run();
  };
  ExpectEqual(run(Array::Filled({3, 3}), {{2, 3}, {1, 0, 2, 0, 2, 1}},
                  {{2, 3}, {1, 1.25, 1.5, 2, 2.25, 2.5}}, 0),
              {{3, 3}, {2, 1.25, 0, 1, 0, 2.5, 0, 2.25, 1.5}});
  const Array row{{1, 5}, {1, 2, 3, 4, 5}}, updates{{1, 2}, {1.5, 2.25}};
  ExpectEqual(run(row, {{1, 2}, {1, 3}}, updates, 1), {{1, 5}, {1, 1.5, 3, 2.25, 5}});
  ExpectEqual(run(row, {{1, 2}, {1, -3}}, updates, 1), {{1, 5}, {1, 1.5, 2.25, 4, 5}});
  ExpectEqual(run(row, {{1, 2}, {1, 1}}, updates, 1, "add"), {{1, 5}, {1, 5.75, 3, 4, 5}});
}

// Every position is written at most once, or is added to once per update.
TEST_P(OnnxPlaces, ScatterElementsAlongEveryDimension) {
  const Array data = Array::Made({2, 5, 3}, 7, -99, 99);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t size = data.shape[axis];
    for (const bool add : {false, true}) {
      Ints at = data.shape;
      at[axis] = add ? 7 : std::min<std::int64_t>(size, 3);
      Array indices = Array::Made(at, 8, static_cast<double>(-size), static_cast<double>(size - 1));
      if (!add) {
        def::ForEach(at, [&](const Ints& i) {  // a permutation that differs from line to line
          const std::int64_t line = i[0] + i[1] + i[2] - i[axis];
          indices.At(i) = static_cast<double>((i[axis] + line) % size);
        });
      }
      const Array updates = Array::Made(at, 9, -50, 50);
      Array expected = data;
      def::ForEach(at, [&](const Ints& i) {
        Ints to = i;
        to[axis] = (static_cast<std::int64_t>(indices.At(i)) + size) % size;
        expected.At(to) = updates.At(i) + (add ? expected.At(to) : 0);
      });
      PlacesModel model("ScatterElements", data, indices, GetParam());
      model.Updates(updates)
          .Int("axis", static_cast<std::int64_t>(axis))
          .Reduction(add ? "add" : "none");
      ExpectEqual(model.Run(), expected);
    }
  }
}

TEST_P(OnnxPlaces, ScatterNdAsDocumented) {
  const bool known = GetParam();
  const auto run = [&](const Array& data, const Array& indices, const Array& updates,
                       const char* reduction = "none") {
    PlacesModel model("ScatterND", data, indices, known);
    return model.Updates(updates).Reduction(reduction).Run();
  };
  const Array line{{8}, {1, 2, 3, 4, 5, 6, 7, 8}};
  ExpectEqual(run(line, {{4, 1}, {4, 3, 1, 7}}, {{4}, {9, 10, 11, 12}}),
              {{8}, {1, 11, 3, 10, 9, 6, 7, 12}});
  ExpectEqual(run(line, {{2, 2, 1}, {4, 3, 4, -1}}, {{2, 2}, {9, 10, 11, 12}}, "add"),
              {{8}, {1, 2, 3, 14, 25, 6, 7, 20}});
  const Array cube{{2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  ExpectEqual(run(cube, {{1, 1}, {1}}, {{1, 2, 3}, {20, 21, 22, 23, 24, 25}}),
              {{2, 2, 3}, {1, 2, 3, 4, 5, 6, 20, 21, 22, 23, 24, 25}});
  const Array pairs{{2, 2}, {0, 1, -1, 0}}, rows{{2, 3}, {20, 21, 22, 30, 31, 32}};
  ExpectEqual(run(cube, pairs, rows), {{2, 2, 3}, {1, 2, 3, 20, 21, 22, 30, 31, 32, 10, 11, 12}});
  ExpectEqual(run(cube, pairs, rows, "add"),
              {{2, 2, 3}, {1, 2, 3, 24, 26, 28, 37, 39, 41, 10, 11, 12}});
  ExpectEqual(run(cube, {{1, 3}, {1, 0, 2}}, {{1}, {50}}),
              {{2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 50, 10, 11, 12}});
}

// Two updates of one position and none of another.
TEST_P(OnnxPlaces, ScatterOfProductsAndExtremes) {
  const Array data{{4}, {1, -2, 3, 4}}, indices{{3, 1}, {1, 3, 1}}, updates{{3}, {5, 2, -7}};
  const auto run = [&](const char* reduction) {
    PlacesModel model("ScatterND", data, indices, GetParam());
    return model.Updates(updates).Reduction(reduction).Run();
  };
  ExpectEqual(run("max"), {{4}, {1, 5, 3, 4}});
  ExpectEqual(run("min"), {{4}, {1, -7, 3, 2}});
  if (GetParam()) ExpectEqual(run("mul"), {{4}, {1, 70, 3, 8}});
}

// Up to opset 10, ScatterElements is called Scatter.
TEST(OnnxPlacesOld, Scatter) {
  OneOperator scatter("Scatter", {{1, 5}, {1, 2, 3, 4, 5}}, 9);
  scatter.With({{1, 2}, {1, 3}}, kInt64).With({{1, 2}, {10, 20}}).model().Int("axis", 1);
  ExpectEqual(scatter.Run(), {{1, 5}, {1, 10, 3, 20, 5}});
}

// A position with three updates, and infinite elements next to it.
TEST_P(OnnxPlaces, AddingLeavesInfiniteElementsAlone) {
  const double infinite = std::numeric_limits<double>::infinity();
  PlacesModel model("ScatterND", {{4}, {infinite, 1, -infinite, 2}}, {{4, 1}, {1, 1, 3, 1}},
                    GetParam());
  model.Updates({{4}, {10, 20, infinite, 30}}).Reduction("add");
  ExpectEqual(model.Run(), {{4}, {infinite, 61, -infinite, infinite}});
}

struct Top {
  Array values, places;
};

Top RunTopK(const Array& data, std::int64_t k, const std::function<void(OnnxBuilder&)>& attributes,
            std::int64_t opset = 11, DataType dtype = kFloat32) {
  OnnxBuilder model(opset);
  model.Input("x", data.shape, OnnxTypeOf(dtype)).Output("values").Output("places");
  const bool attribute = opset < 10;
  model.Node("TopK", attribute ? Strings{"x"} : Strings{"x", "k"}, {"values", "places"});
  if (attribute) {
    model.Int("k", k);
  } else {
    model.Initializer("k", MakeTensor(kInt64, {1}, {static_cast<double>(k)}));
  }
  attributes(model);
  auto graph = model.Import();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return {};
  std::vector<Tensor> given;
  given.push_back(TensorOf(data, dtype));
  const auto outputs = EvaluateGraph(*graph, given);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  if (!outputs.ok()) return {};
  const Tensor &values = (*outputs)[0], &places = (*outputs)[1];
  EXPECT_EQ(values.dtype(), dtype);
  EXPECT_EQ(places.dtype(), kInt64);
  return {{values.shape(), ValuesOf(values)}, {places.shape(), ValuesOf(places)}};
}

TEST(OnnxTopK, AsDocumented) {
  const Array rising{{3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
  for (const std::int64_t opset : {7, 10, 11, 24}) {
    const Top top = RunTopK(
        rising, 3, [](OnnxBuilder& m) { m.Int("axis", 1); }, opset);
    EXPECT_EQ(top.values.shape, (Ints{3, 3}));
    EXPECT_EQ(top.values.v, (Doubles{3, 2, 1, 7, 6, 5, 11, 10, 9}));
    EXPECT_EQ(top.places.shape, (Ints{3, 3}));
    EXPECT_EQ(top.places.v, (Doubles{3, 2, 1, 3, 2, 1, 3, 2, 1}));
  }
  const Array mixed{{3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 11, 10, 9, 8}};
  const Top least = RunTopK(mixed, 3, [](OnnxBuilder& m) { m.Int("largest", 0).Int("sorted", 1); });
  EXPECT_EQ(least.values.v, (Doubles{0, 1, 2, 4, 5, 6, 8, 9, 10}));
  EXPECT_EQ(least.places.v, (Doubles{0, 1, 2, 0, 1, 2, 3, 2, 1}));
}

TEST(OnnxTopK, OfEqualElementsTheFirstComesFirst) {
  const Array same{{6}, {2, 5, 2, 5, 2, 5}};
  const Top most = RunTopK(same, 4, [](OnnxBuilder&) {});
  EXPECT_EQ(most.places.v, (Doubles{1, 3, 5, 0}));
  const Top least = RunTopK(
      same, 4, [](OnnxBuilder& m) { m.Int("largest", 0); }, 11, kInt8);
  EXPECT_EQ(least.places.v, (Doubles{0, 2, 4, 1}));
}

TEST(OnnxTopK, ANanIsTheGreatest) {
  const double infinite = std::numeric_limits<double>::infinity();
  const Array odd{{6}, {1, kNanValue, -infinite, infinite, kNanValue, 3}};
  const Top most = RunTopK(odd, 6, [](OnnxBuilder&) {});
  EXPECT_EQ(most.places.v, (Doubles{1, 3, 4, 5, 0, 2}));
  EXPECT_TRUE(std::isnan(most.values.v[0]) && std::isnan(most.values.v[2]));
  const Top least = RunTopK(odd, 3, [](OnnxBuilder& m) { m.Int("largest", 0); });
  EXPECT_EQ(least.values.v, (Doubles{-infinite, 1, 3}));
}

// Rows of one block, of several blocks with and without a remainder, and rows so long that the
// candidates of the blocks are split into blocks again. Many elements are equal.
TEST(OnnxTopK, OfLongRowsAlongEveryDimension) {
  struct Case {
    Ints shape;
    std::size_t axis;
    std::int64_t k;
  };
  for (const Case& c :
       {Case{{2, 3, 4}, 0, 2}, Case{{2, 6, 4}, 1, 6}, Case{{3, 1, 7}, 2, 5}, Case{{1024}, 0, 3},
        Case{{2, 1030}, 1, 4}, Case{{514, 2}, 0, 1}, Case{{1300}, 0, 300}}) {
    for (const bool largest : {true, false}) {
      SCOPED_TRACE(std::to_string(c.k) + " of dimension " + std::to_string(c.axis));
      const Array data = Array::Made(c.shape, 11, -200, 200);
      Ints shape = c.shape;
      shape[c.axis] = c.k;
      Array values = Array::Filled(shape), places = Array::Filled(shape);
      Ints lines = c.shape;
      lines[c.axis] = 1;
      def::ForEach(lines, [&](const Ints& line) {
        const auto at = [&](std::int64_t i) {
          Ints index = line;
          index[c.axis] = i;
          return index;
        };
        Ints order(static_cast<std::size_t>(c.shape[c.axis]));
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
          return largest ? data.At(at(a)) > data.At(at(b)) : data.At(at(a)) < data.At(at(b));
        });
        for (std::int64_t i = 0; i < c.k; ++i) {
          const std::int64_t from = order[static_cast<std::size_t>(i)];
          values.At(at(i)) = data.At(at(from));
          places.At(at(i)) = static_cast<double>(from);
        }
      });
      const Top top = RunTopK(data, c.k, [&](OnnxBuilder& m) {
        m.Int("axis", static_cast<std::int64_t>(c.axis)).Int("largest", largest ? 1 : 0);
      });
      EXPECT_EQ(top.values.shape, shape);
      EXPECT_EQ(top.values.v, values.v);
      EXPECT_EQ(top.places.v, places.v);
    }
  }
}

}  // namespace
}  // namespace tilewright
