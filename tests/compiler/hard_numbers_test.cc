// Extreme numbers through compiled libraries: NaN and infinities in comparisons and sums, and
// functions of angles of every size, compared with the reference.

#include <cmath>
#include <limits>

#include "src/base/random.h"
#include "src/graph/ir/evaluate.h"
#include "src/target/cpu.h"
#include "tests/compiler/library_fixture.h"

namespace tilewright {
namespace {

constexpr char kHardExtremes[] =
    R"(def @main(%x: Tensor[(1, 16, 9, 8), float32], %y: Tensor[(1, 16, 9, 8), float32]) {
  %0 = maximum(%x, %y);
  %1 = minimum(%x, %y);
  %2 = nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);
  %3 = max(%x, axis=[3]);
  %4 = min(%x, axis=[1, 2]);
  %5 = nn.relu(%x);
  %6 = clip(%x, a_min=-1f, a_max=2f);
  (%0, %1, %2, %3, %4, %5, %6)
})";

constexpr char kHardFunctions[] = R"(def @main(%x: Tensor[(1, 8, 40), float32]) {
  %0 = sin(%x);
  %1 = cos(%x);
  %2 = tan(%x);
  %3 = tilewright.softplus(%x);
  %4 = acosh(%x);
  %5 = sigmoid(%x);
  (%0, %1, %2, %3, %4, %5)
})";

class HardNumbers : public Library {
 protected:
  /// Expects every element of every output within `relative` of the reference, and NaN where the
  /// reference has NaN.
  void Expect(const char* text, const std::vector<Tensor>& inputs, double relative) {
    for (const char* target : {"llvm -mcpu=x86-64", "llvm -mcpu=haswell", "native"}) {
      SCOPED_TRACE(target);
      const bool avx2 = FeaturesOf(*Target::Parse("native"))->avx2;
      if (std::string_view(target) == "llvm -mcpu=haswell" && !avx2) continue;
      options_.target = *Target::Parse(target);
      const auto compiled = Compile(Load(text), options_, Path("hard.so"));
      ASSERT_TRUE(compiled.ok()) << compiled.status().message();
      const auto model = ModelLibrary::Open(Path("hard.so"));
      ASSERT_TRUE(model.ok()) << model.status().message();
      const auto results = model->Run(inputs);
      ASSERT_TRUE(results.ok()) << results.status().message();
      const auto expected = EvaluateGraph(Load(text), inputs);
      ASSERT_TRUE(expected.ok()) << expected.status().message();
      for (std::size_t output = 0; output < expected->size(); ++output) {
        for (std::int64_t i = 0; i < (*expected)[output].elements(); ++i) {
          const double wanted = (*expected)[output].At(i), given = (*results)[output].At(i);
          if (std::isnan(wanted) && std::isnan(given)) continue;
          ASSERT_TRUE(given == wanted ||
                      std::fabs(given - wanted) <= relative * std::fabs(wanted) + 0x1p-145)
              << "output " << output << " [" << i << "]: " << given << ", expected " << wanted;
        }
      }
    }
  }
};

TEST_F(HardNumbers, NanGoesThroughCompiledExtremes) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<Tensor> inputs;
  for (const std::uint64_t seed : {1U, 2U}) {
    Tensor input(TensorType{{1, 16, 9, 8}, kFloat32});
    for (std::int64_t i = 0; i < input.elements(); ++i) {
      const std::uint32_t random = SeededElement(seed, static_cast<std::uint64_t>(i));
      const float number = static_cast<float>(random % 1000U) / 100 - 5;
      input.Set(i, random % 11U == 0 ? NAN : random % 13U == 0 ? -kInf : number);
    }
    inputs.push_back(std::move(input));
  }
  Expect(kHardExtremes, inputs, 0);
}

TEST_F(HardNumbers, FunctionsOfEverySize) {
  Tensor x(TensorType{{1, 8, 40}, kFloat32});
  const double odd[] = {0, 1e-40, 131071.9, 131072, 1e9, 1e22, 3.4e38, HUGE_VAL, NAN, 102};
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    x.Set(i, sign * (i < 20 ? odd[i / 2] : std::exp2(static_cast<double>(i) / 2 - 40)));
  }
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(x));
  Expect(kHardFunctions, inputs, 1e-6);
}

}  // namespace
}  // namespace tilewright
