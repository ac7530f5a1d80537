// Short-time Fourier transforms compared with sums over each frame.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "src/graph/onnx/proto.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

namespace def = onnx_definitions;
using def::Array;
using testing::HasSubstr;

struct FrameCase {
  std::int64_t parts = 1, step = 3, length = 6;
  bool onesided = true, windowed = true, says_length = true;
};

Array Transformed(const Array& x, const Doubles& window, const FrameCase& c) {
  const std::int64_t frames = (x.shape[1] - c.length) / c.step + 1;
  const std::int64_t bins = c.onesided ? c.length / 2 + 1 : c.length;
  Array result = Array::Filled({x.shape[0], frames, bins, 2});
  def::ForEach(result.shape, [&](const Ints& at) {
    for (std::int64_t i = 0; i < c.length; ++i) {
      const double angle =
          -2 * std::numbers::pi * static_cast<double>(i * at[2]) / static_cast<double>(c.length);
      const double factor = c.windowed ? window[static_cast<std::size_t>(i)] : 1;
      const std::int64_t place = at[1] * c.step + i;
      const double real = factor * x.At({at[0], place, 0});
      const double imaginary = c.parts == 2 ? factor * x.At({at[0], place, 1}) : 0;
      result.At(at) += at[3] == 0 ? real * std::cos(angle) - imaginary * std::sin(angle)
                                  : real * std::sin(angle) + imaginary * std::cos(angle);
    }
  });
  return result;
}

OneOperator StftModel(const Array& x, const Doubles& window, const FrameCase& c) {
  OneOperator stft("STFT", x, 17);
  stft.Scalar(static_cast<double>(c.step), kInt64);
  if (c.windowed) {
    stft.Vector(window);
  } else {
    stft.Skip();
  }
  if (c.says_length) stft.Scalar(static_cast<double>(c.length), kInt64);
  stft.model().Int("onesided", c.onesided ? 1 : 0);
  return stft;
}

TEST(OnnxStft, FramesOfRealAndComplexSignals) {
  const FrameCase kCases[] = {
      {},
      {.step = 1, .length = 5},
      {.onesided = false, .says_length = false},
      {.parts = 2, .onesided = false},
      {.step = 20, .windowed = false},
      {.parts = 2},
      {.parts = 2, .step = 4, .length = 7, .onesided = false, .windowed = false},
  };
  for (const FrameCase& c : kCases) {
    const Array x = Array::Made({2, 17, c.parts}, 3, -9, 9);
    Doubles window;
    for (std::int64_t i = 0; i < c.length; ++i) window.push_back(static_cast<double>(i + 1) / 4);
    ExpectEqual(StftModel(x, window, c).Run(), Transformed(x, window, c), 1e-5);
  }
}

TEST(OnnxStft, WindowThatIsComputed) {
  const FrameCase c;
  const Array x = Array::Made({1, 17, 1}, 4, -9, 9);
  const Doubles window = {1, 2, 3, 4, 5, 6};
  OnnxBuilder model(17);
  model.Input("x", {1, 17, 1}).Input("w", {6}).Output("y");
  model.Initializer("s", MakeTensor(kInt64, {}, {3})).Node("STFT", {"x", "s", "w"}, {"y"});
  const Tensor signal = TensorOf(x), factors = MakeTensor(kFloat32, {6}, window);
  ExpectEqual(EvaluateModel(model, {&signal, &factors}), Transformed(x, window, c), 1e-5);
}

TEST(OnnxStft, SaysWhatDoesNotFit) {
  const auto refusal = [](const Array& x, const Doubles& window, const FrameCase& c) {
    const auto graph = StftModel(x, window, c).model().Import();
    EXPECT_FALSE(graph.ok());
    return graph.ok() ? std::string() : std::string(graph.status().message());
  };
  const Array x = Array::Filled({1, 17, 1});
  EXPECT_THAT(refusal(x, {1, 2}, {}), HasSubstr("the window (input 2) has 2 elements, the frames "
                                                "have 6"));
  EXPECT_THAT(refusal(x, {}, {.length = 18, .windowed = false}), HasSubstr("of a signal of 17"));
  EXPECT_THAT(refusal(x, {}, {.length = 0, .windowed = false}), HasSubstr("frames of 0"));
  EXPECT_THAT(refusal(x, {}, {.step = 0, .windowed = false}), HasSubstr("a step from 1 on"));
  EXPECT_THAT(refusal(x, {}, {.step = -3, .windowed = false}), HasSubstr("a step from 1 on"));
  EXPECT_THAT(refusal(x, {}, {.windowed = false, .says_length = false}),
              HasSubstr("has neither a window"));
  EXPECT_THAT(refusal(Array::Filled({1, 17, 3}), {}, {.windowed = false}), HasSubstr("[B,L,2]"));
}

}  // namespace
}  // namespace tilewright
