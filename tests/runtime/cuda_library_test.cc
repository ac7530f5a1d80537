// Calls of cuDNN and cuBLAS with fake libraries and a fake driver.

#include "src/runtime/cuda_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <span>

#include "src/runtime/cuda_session.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

TwLibraryShape FloatCall(std::int64_t kind) {
  TwLibraryShape shape{};
  shape.kind = kind;
  shape.data_type = shape.weight_type = shape.result_type = TW_LIBRARY_F32;
  shape.n = shape.r = shape.s = shape.groups = shape.h = shape.w = shape.oh = shape.ow = 1;
  shape.stride_h = shape.stride_w = shape.dilation_h = shape.dilation_w = 1;
  return shape;
}

/// A program of one library call, on operands of small numbers.
class CudaCalls : public testing::Test {
 protected:
  void SetUp() override {
    // The system's loader takes these files for the libraries of the same name.
    for (const char* file : {FAKE_CUDNN, FAKE_CUBLAS}) {
      ASSERT_NE(::dlopen(file, RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
    }
    auto session = CudaSession::Open(FAKE_CUDA, 0);
    ASSERT_TRUE(session.ok()) << session.status().message();
    session_ = *std::move(session);
  }
  template <typename Number>
  GridMemory Upload(const std::vector<Number>& numbers) {
    auto memory = session_->Allocate(static_cast<std::int64_t>(numbers.size() * sizeof(Number)));
    TW_CHECK(memory.ok());
    TW_CHECK(session_->Write(memory->address(), std::as_bytes(std::span(numbers))).ok());
    return *std::move(memory);
  }
  /// The arguments are data, weight, result.
  Result<GridProgram> Load(const TwLibraryShape& shape, const char* given = nullptr) {
    const bool convolution = shape.kind == TW_LIBRARY_CONVOLUTION;
    const char* file = given != nullptr ? given : convolution ? "libcudnn.so.9" : "libcublas.so.12";
    GridLaunch launch;
    launch.kernel = "call";
    launch.library = {file, "an operator", FieldsOf(shape), {2, 0, 1}};
    return session_->Load("ptx", {launch});
  }
  template <typename Number, typename Sum>
  std::vector<Sum> Run(const TwLibraryShape& shape, const std::vector<Number>& data,
                       const std::vector<Number>& weight, std::size_t results) {
    auto program = Load(shape);
    EXPECT_TRUE(program.ok()) << program.status().message();
    if (!program.ok()) return {};
    const GridMemory a = Upload(data), b = Upload(weight), c = Upload(std::vector<Sum>(results));
    program->SetArguments({a.address(), b.address(), c.address()});
    const Status done = session_->Enqueue(*program);
    EXPECT_TRUE(done.ok()) << done.message();
    EXPECT_TRUE(session_->Wait(1).ok());
    std::vector<Sum> result(results);
    EXPECT_TRUE(session_->Read(c.address(), std::as_writable_bytes(std::span(result))).ok());
    return result;
  }

  std::unique_ptr<CudaSession> session_;
};

template <typename Number>
std::vector<Number> Counting(std::size_t size) {
  std::vector<Number> numbers(size);
  std::iota(numbers.begin(), numbers.end(), Number(-3));
  return numbers;
}

TEST_F(CudaCalls, DescribeAConvolution) {
  TwLibraryShape s = FloatCall(TW_LIBRARY_CONVOLUTION);
  s.c = 2, s.h = 5, s.w = 4, s.k = 4, s.r = 3, s.s = 1, s.groups = 2;
  s.stride_h = 2, s.dilation_w = 3, s.pad_top = s.pad_bottom = 1;
  s.oh = 3, s.ow = 4;
  const auto data = Counting<float>(40), weight = Counting<float>(12);
  const auto result = Run<float, float>(s, data, weight, 48);
  ASSERT_EQ(result.size(), 48U);
  for (int k = 0; k < 4; ++k) {
    for (int oh = 0; oh < 3; ++oh) {
      for (int ow = 0; ow < 4; ++ow) {
        float expected = 0;
        for (int r = 0; r < 3; ++r) {
          const int h = 2 * oh + r - 1;
          if (h < 0 || h >= 5) continue;
          expected += data[static_cast<std::size_t>((k / 2 * 5 + h) * 4 + ow)] *
                      weight[static_cast<std::size_t>(3 * k + r)];
        }
        EXPECT_EQ(result[static_cast<std::size_t>((k * 3 + oh) * 4 + ow)], expected)
            << k << " " << oh << " " << ow;
      }
    }
  }
}

template <typename Number, typename Sum>
std::vector<Sum> Products(const std::vector<Number>& data, const std::vector<Number>& weight) {
  std::vector<Sum> expected;  // 2 matrices, 4 rows, 8 columns, sums of 4
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t col = 0; col < 8; ++col) {
        Sum sum = 0;
        for (std::size_t k = 0; k < 4; ++k) {
          sum += static_cast<Sum>(data[(b * 4 + row) * 4 + k]) *
                 static_cast<Sum>(weight[(b * 8 + col) * 4 + k]);
        }
        expected.push_back(sum);
      }
    }
  }
  return expected;
}

TEST_F(CudaCalls, DescribeMatrixProducts) {
  TwLibraryShape s = FloatCall(TW_LIBRARY_MATMUL);
  s.n = 2, s.h = 4, s.c = 4, s.k = 8;
  const auto data = Counting<float>(32), weight = Counting<float>(64);
  EXPECT_EQ((Run<float, float>(s, data, weight, 64)), (Products<float, float>(data, weight)));
  s.data_type = s.weight_type = TW_LIBRARY_S8, s.result_type = TW_LIBRARY_S32;
  const auto bytes = Counting<std::int8_t>(32), more = Counting<std::int8_t>(64);
  EXPECT_EQ((Run<std::int8_t, std::int32_t>(s, bytes, more, 64)),
            (Products<std::int8_t, std::int32_t>(bytes, more)));
}

TEST_F(CudaCalls, LoadNothingButTheLibraryOfTheOperation) {
  ASSERT_EQ(::unsetenv("TW_TEST_LOADED"), 0);
  for (const char* file : {FAKE_LOADED, "libno_such_library.so.1", "libcudnn.so.9", "libdnnl.so.2",
                           "./libcublas.so.12"}) {
    const auto refused = Load(FloatCall(TW_LIBRARY_MATMUL), file);
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument) << file;
    EXPECT_THAT(refused.status().message(),
                testing::AllOf(HasSubstr("an operator"), HasSubstr(file),
                               HasSubstr("expected the library libcublas.so.12")));
  }
  EXPECT_EQ(std::getenv("TW_TEST_LOADED"), nullptr) << "an artifact was loaded";
  GridLaunch launch;
  launch.kernel = "call";
  launch.library = {"libcublas.so.12", "an operator", {1, 2, 3}, {2, 0, 1}};
  EXPECT_EQ(session_->Load("ptx", {launch}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(CudaCalls, SayWhatIsMissingOrRefused) {
  TwLibraryShape s = FloatCall(TW_LIBRARY_CONVOLUTION);
  s.c = 3, s.k = 4, s.groups = 2;
  const auto refused = Load(s);
  EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.status().message(),
              testing::AllOf(HasSubstr("an operator"),
                             HasSubstr("cudnnFindConvolutionForwardAlgorithm returned 2000")));
}

}  // namespace
}  // namespace tilewright
