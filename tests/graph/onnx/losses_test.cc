#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

struct LossCase {
  const char* op;
  const char* reduction;
  bool weighted;
  bool ignoring;  ///< class 2
};

// Scores of three classes for two texts of two words; the loss as the specification defines it.
TEST(OnnxLosses, AreThoseOfTheFormat) {
  const Tensor scores =
      MakeTensor(kFloat32, {2, 3, 2}, {0.5, -1, 2, 0.25, 0, 3, 1, 1.5, -0.5, 4, 0.75, -2});
  const std::vector<int> targets = {2, 0, 1, 2};
  const std::vector<double> weights = {0.5, 2, 3};
  for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    for (const char* reduction : {"mean", "sum", "none"}) {
      for (int form = 0; form < 4; ++form) {
        const LossCase tested{op, reduction, form % 2 == 1, form / 2 == 1};
        OnnxBuilder model(13);
        model.Input("x", {2, 3, 2}).Output("y");
        model.Initializer("t", MakeTensor(kInt64, {2, 2}, {2, 0, 1, 2}));
        model.Initializer("w", MakeTensor(kFloat32, {3}, weights));
        model.Node(op, {"x", "t", tested.weighted ? "w" : ""}, {"y"}).Text("reduction", reduction);
        if (tested.ignoring) model.Int("ignore_index", 2);
        double sum = 0, factors = 0;
        std::vector<double> each;
        for (int i = 0; i < 4; ++i) {
          const int text = i / 2, word = i % 2, target = targets[static_cast<std::size_t>(i)];
          const auto score = [&](int c) { return scores.At(text * 6 + c * 2 + word); };
          double log = score(target);
          if (op[0] == 'S') {
            log -= std::log(std::exp(score(0)) + std::exp(score(1)) + std::exp(score(2)));
          }
          double factor = tested.weighted ? weights[static_cast<std::size_t>(target)] : 1;
          if (tested.ignoring && target == 2) factor = 0;
          each.push_back(-log * factor);
          sum += each.back();
          factors += factor;
        }
        if (reduction == std::string("mean")) each = {sum / factors};
        if (reduction == std::string("sum")) each = {sum};
        const Tensor y = EvaluateModel(model, {&scores});
        EXPECT_THAT(ValuesOf(y), testing::Pointwise(testing::DoubleNear(1e-5), each))
            << op << " " << reduction << " " << form;
      }
    }
  }
}

TEST(OnnxLosses, NameTargetsThatDoNotFit) {
  OnnxBuilder model(13);
  model.Input("x", {2, 3}).Input("t", {3}, onnx::TensorProto::INT64).Output("y");
  model.Node("NegativeLogLikelihoodLoss", {"x", "t"}, {"y"});
  EXPECT_THAT(model.Import().status().message(), HasSubstr("int64[3]"));
}

}  // namespace
}  // namespace tilewright
