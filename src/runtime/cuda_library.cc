// cuDNN 9's convolutions and cuBLAS's matrix products, loaded at run time. The declarations repeat
// NVIDIA's documented C interfaces; both libraries work in the current context.

#include "src/runtime/cuda_library.h"

#include <dlfcn.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "src/target/library.h"

namespace tilewright {
namespace {

// cudnn_graph.h, cudnn_cnn.h
constexpr int kCudnnFloat = 0, kCudnnNchw = 0, kCudnnFmaMath = 3, kCudnnCrossCorrelation = 1;
// cublas_api.h, library_types.h
constexpr int kCublasTransposed = 1, kCublasPlain = 0, kCublasDefaultAlgorithm = -1;
constexpr int kCublasFloat = 68, kCublasInt32 = 72;  // accumulator types
constexpr int kCudaFloat = 0, kCudaInt8 = 3, kCudaInt32 = 10;

/// cudnnConvolutionFwdAlgoPerf_t.
struct AlgorithmTime {
  int algorithm, status;
  float milliseconds;
  std::size_t memory;
  int determinism, math, reserved[3];
};

/// Errors: kInvalidArgument for another number of fields.
Result<TwLibraryShape> ShapeFrom(const std::vector<std::int64_t>& fields) {
  TwLibraryShape shape{};
  if (fields.size() * sizeof(std::int64_t) != sizeof(shape)) {
    return InvalidArgument("a library's call: " + std::to_string(fields.size()) +
                           " numbers, expected " +
                           std::to_string(sizeof(shape) / sizeof(std::int64_t)));
  }
  std::memcpy(&shape, fields.data(), sizeof(shape));
  return shape;
}

void* Device(std::uint64_t address) { return reinterpret_cast<void*>(address); }

/// Library that stays loaded, with functions by name.
class Loaded {
 public:
  /// name: of the only library that has the operation. The loaded file is that of the table; the
  /// call's file name, which may come from another machine, is only compared with it.
  Loaded(const CudaLibraryCall& call, std::string_view name)
      : operation_(call.operation + " by " + call.file) {
    const KernelLibrary* library = LibraryOfFile(call.file, "cuda");
    if (library == nullptr || library->name != name) {
      const KernelLibrary* expected = FindLibrary(name);
      status_ = InvalidArgument(operation_ + ": expected the library " +
                                std::string(expected != nullptr ? expected->file : name) +
                                "; nothing else is loaded for it");
      return;
    }
    const std::string_view file =
        call.file == library->later_file ? library->later_file : library->file;
    handle_ = dlopen(std::string(file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      status_ = NotFound(operation_ + ": the library is not on this machine: " + dlerror());
    }
  }
  const Status& status() const { return status_; }
  const std::string& operation() const { return operation_; }
  /// POSIX: an object pointer from dlsym converts to a function pointer.
  template <typename Function>
  void Find(const char* name, Function*& function) {
    if (!status_.ok()) return;
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (function == nullptr) status_ = Unsupported(operation_ + ": the library has no " + name);
  }
  /// Errors: kUnsupported with the call and its code.
  Status Check(int code, const char* function) const {
    if (code == 0) return {};
    return Unsupported(operation_ + ": " + function + " returned " + std::to_string(code));
  }

 private:
  std::string operation_;
  void* handle_ = nullptr;
  Status status_;
};

class CudnnConvolution final : public CudaFunction {
 public:
  explicit CudnnConvolution(const CudaLibraryCall& call) : library_(call, "cudnn") {
    library_.Find("cudnnCreate", create_);
    library_.Find("cudnnDestroy", destroy_);
    library_.Find("cudnnSetStream", set_stream_);
    library_.Find("cudnnCreateTensorDescriptor", create_tensor_);
    library_.Find("cudnnDestroyTensorDescriptor", destroy_tensor_);
    library_.Find("cudnnSetTensor4dDescriptor", set_tensor_);
    library_.Find("cudnnCreateFilterDescriptor", create_filter_);
    library_.Find("cudnnDestroyFilterDescriptor", destroy_filter_);
    library_.Find("cudnnSetFilter4dDescriptor", set_filter_);
    library_.Find("cudnnCreateConvolutionDescriptor", create_convolution_);
    library_.Find("cudnnDestroyConvolutionDescriptor", destroy_convolution_);
    library_.Find("cudnnSetConvolution2dDescriptor", set_convolution_);
    library_.Find("cudnnSetConvolutionGroupCount", set_groups_);
    library_.Find("cudnnSetConvolutionMathType", set_math_);
    library_.Find("cudnnFindConvolutionForwardAlgorithm", find_);
    library_.Find("cudnnConvolutionForward", forward_);
  }
  ~CudnnConvolution() override {
    if (convolution_ != nullptr) (void)destroy_convolution_(convolution_);
    if (weight_ != nullptr) (void)destroy_filter_(weight_);
    if (result_ != nullptr) (void)destroy_tensor_(result_);
    if (data_ != nullptr) (void)destroy_tensor_(data_);
    if (handle_ != nullptr) (void)destroy_(handle_);
  }
  CudnnConvolution(const CudnnConvolution&) = delete;
  CudnnConvolution& operator=(const CudnnConvolution&) = delete;

  Status Prepare(const TwLibraryShape& s, void* stream, const CudaScratch& scratch) {
    TW_RETURN_IF_ERROR(library_.status());
    TW_RETURN_IF_ERROR(library_.Check(create_(&handle_), "cudnnCreate"));
    TW_RETURN_IF_ERROR(library_.Check(set_stream_(handle_, stream), "cudnnSetStream"));
    TW_RETURN_IF_ERROR(Describe(s));
    return Choose(scratch);
  }

  Status Enqueue(std::uint64_t result, std::uint64_t data, std::uint64_t weight) override {
    const float one = 1, zero = 0;
    const int code =
        forward_(handle_, &one, data_, Device(data), weight_, Device(weight), convolution_,
                 algorithm_, Device(scratch_), scratch_bytes_, &zero, result_, Device(result));
    if (code == 0) return {};
    return Unavailable(library_.Check(code, "cudnnConvolutionForward").message());
  }

 private:
  Status Describe(const TwLibraryShape& s) {
    const auto size = [](std::int64_t n) { return static_cast<int>(n); };
    const auto check = [&](int code, const char* what) { return library_.Check(code, what); };
    TW_RETURN_IF_ERROR(check(create_tensor_(&data_), "cudnnCreateTensorDescriptor"));
    TW_RETURN_IF_ERROR(check(create_tensor_(&result_), "cudnnCreateTensorDescriptor"));
    TW_RETURN_IF_ERROR(check(create_filter_(&weight_), "cudnnCreateFilterDescriptor"));
    TW_RETURN_IF_ERROR(check(create_convolution_(&convolution_), "cudnnCreateConvolution"));
    TW_RETURN_IF_ERROR(check(
        set_tensor_(data_, kCudnnNchw, kCudnnFloat, size(s.n), size(s.c), size(s.h), size(s.w)),
        "cudnnSetTensor4dDescriptor"));
    TW_RETURN_IF_ERROR(check(
        set_tensor_(result_, kCudnnNchw, kCudnnFloat, size(s.n), size(s.k), size(s.oh), size(s.ow)),
        "cudnnSetTensor4dDescriptor"));
    TW_RETURN_IF_ERROR(check(set_filter_(weight_, kCudnnFloat, kCudnnNchw, size(s.k),
                                         size(s.c / s.groups), size(s.r), size(s.s)),
                             "cudnnSetFilter4dDescriptor"));
    TW_RETURN_IF_ERROR(
        check(set_convolution_(convolution_, size(s.pad_top), size(s.pad_left), size(s.stride_h),
                               size(s.stride_w), size(s.dilation_h), size(s.dilation_w),
                               kCudnnCrossCorrelation, kCudnnFloat),
              "cudnnSetConvolution2dDescriptor"));
    TW_RETURN_IF_ERROR(
        check(set_groups_(convolution_, size(s.groups)), "cudnnSetConvolutionGroupCount"));
    return check(set_math_(convolution_, kCudnnFmaMath), "cudnnSetConvolutionMathType");
  }

  /// Selects the fastest algorithm, as the library measures it with memory that it allocates.
  Status Choose(const CudaScratch& scratch) {
    constexpr int kMax = 8;
    std::array<AlgorithmTime, kMax> times{};
    int count = 0;
    TW_RETURN_IF_ERROR(library_.Check(
        find_(handle_, data_, weight_, convolution_, result_, kMax, &count, times.data()),
        "cudnnFindConvolutionForwardAlgorithm"));
    for (int i = 0; i < count && i < kMax; ++i) {  // fastest first
      const AlgorithmTime& time = times[static_cast<std::size_t>(i)];
      if (time.status != 0 || time.math != kCudnnFmaMath) continue;
      auto memory = scratch(time.memory);
      if (!memory.ok()) continue;
      algorithm_ = time.algorithm;
      scratch_ = *memory;
      scratch_bytes_ = time.memory;
      return {};
    }
    return Unsupported(library_.operation() + ": no algorithm for it without tensor cores");
  }

  Loaded library_;
  int (*create_)(void**) = nullptr;
  int (*destroy_)(void*) = nullptr;
  int (*set_stream_)(void*, void*) = nullptr;
  int (*create_tensor_)(void**) = nullptr;
  int (*destroy_tensor_)(void*) = nullptr;
  int (*set_tensor_)(void*, int format, int type, int n, int c, int h, int w) = nullptr;
  int (*create_filter_)(void**) = nullptr;
  int (*destroy_filter_)(void*) = nullptr;
  int (*set_filter_)(void*, int type, int format, int k, int c, int r, int s) = nullptr;
  int (*create_convolution_)(void**) = nullptr;
  int (*destroy_convolution_)(void*) = nullptr;
  int (*set_convolution_)(void*, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                          int dilation_w, int mode, int type) = nullptr;
  int (*set_groups_)(void*, int) = nullptr;
  int (*set_math_)(void*, int) = nullptr;
  int (*find_)(void*, void* data, void* weight, void* convolution, void* result, int most,
               int* count, AlgorithmTime*) = nullptr;
  int (*forward_)(void*, const void* alpha, void*, const void* data, void*, const void* weight,
                  void*, int algorithm, void* scratch, std::size_t bytes, const void* beta, void*,
                  void* result) = nullptr;
  void *handle_ = nullptr, *data_ = nullptr, *weight_ = nullptr, *result_ = nullptr,
       *convolution_ = nullptr;
  int algorithm_ = 0;
  std::uint64_t scratch_ = 0;
  std::size_t scratch_bytes_ = 0;
};

/// Matrix product result = data . weight^T in row-major order, which is result^T = weight . data^T
/// in column-major order.
class CublasProduct final : public CudaFunction {
 public:
  CublasProduct(const CudaLibraryCall& call, const TwLibraryShape& shape)
      : library_(call, "cublas"), shape_(shape) {
    library_.Find("cublasCreate_v2", create_);
    library_.Find("cublasDestroy_v2", destroy_);
    library_.Find("cublasSetStream_v2", set_stream_);
    library_.Find("cublasSetWorkspace_v2", set_workspace_);
    library_.Find("cublasGemmStridedBatchedEx", multiply_);
  }
  ~CublasProduct() override {
    if (handle_ != nullptr) (void)destroy_(handle_);
  }
  CublasProduct(const CublasProduct&) = delete;
  CublasProduct& operator=(const CublasProduct&) = delete;

  Status Prepare(void* stream, const CudaScratch& scratch) {
    constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // recommended size for Hopper
    TW_RETURN_IF_ERROR(library_.status());
    TW_RETURN_IF_ERROR(library_.Check(create_(&handle_), "cublasCreate"));
    TW_RETURN_IF_ERROR(library_.Check(set_stream_(handle_, stream), "cublasSetStream"));
    // The library could not allocate while a graph is recorded.
    auto memory = scratch(kWorkspaceBytes);
    TW_RETURN_IF_ERROR(memory);
    return library_.Check(set_workspace_(handle_, Device(*memory), kWorkspaceBytes),
                          "cublasSetWorkspace");
  }

  Status Enqueue(std::uint64_t result, std::uint64_t data, std::uint64_t weight) override {
    const auto m = static_cast<int>(shape_.k), n = static_cast<int>(shape_.h),
               k = static_cast<int>(shape_.c);
    const bool floats = shape_.data_type == TW_LIBRARY_F32;
    const float one = 1, zero = 0;
    const std::int32_t whole_one = 1, whole_zero = 0;
    const void* alpha = floats ? static_cast<const void*>(&one) : &whole_one;
    const void* beta = floats ? static_cast<const void*>(&zero) : &whole_zero;
    const int operand = floats ? kCudaFloat : kCudaInt8, sum = floats ? kCudaFloat : kCudaInt32;
    const int code =
        multiply_(handle_, kCublasTransposed, kCublasPlain, m, n, k, alpha, Device(weight), operand,
                  k, shape_.k * shape_.c, Device(data), operand, k, shape_.h * shape_.c, beta,
                  Device(result), sum, m, shape_.h * shape_.k, static_cast<int>(shape_.n),
                  floats ? kCublasFloat : kCublasInt32, kCublasDefaultAlgorithm);
    if (code == 0) return {};
    return Unavailable(library_.Check(code, "cublasGemmStridedBatchedEx").message());
  }

 private:
  Loaded library_;
  TwLibraryShape shape_;
  int (*create_)(void**) = nullptr;
  int (*destroy_)(void*) = nullptr;
  int (*set_stream_)(void*, void*) = nullptr;
  int (*set_workspace_)(void*, void*, std::size_t) = nullptr;
  int (*multiply_)(void*, int, int, int m, int n, int k, const void* alpha, const void* a, int, int,
                   long long, const void* b, int, int, long long, const void* beta, void* c, int,
                   int, long long, int batch, int compute, int algorithm) = nullptr;
  void* handle_ = nullptr;
};

}  // namespace

std::vector<std::int64_t> FieldsOf(const TwLibraryShape& shape) {
  std::vector<std::int64_t> fields(sizeof(shape) / sizeof(std::int64_t));
  std::memcpy(fields.data(), &shape, sizeof(shape));
  return fields;
}

Result<std::unique_ptr<CudaFunction>> PrepareCudaFunction(const CudaLibraryCall& call, void* stream,
                                                          const CudaScratch& scratch) {
  TW_ASSIGN_OR_RETURN(const auto shape, ShapeFrom(call.shape));
  if (shape.kind == TW_LIBRARY_CONVOLUTION) {
    auto function = std::make_unique<CudnnConvolution>(call);
    TW_RETURN_IF_ERROR(function->Prepare(shape, stream, scratch));
    return std::unique_ptr<CudaFunction>(std::move(function));
  }
  auto function = std::make_unique<CublasProduct>(call, shape);
  TW_RETURN_IF_ERROR(function->Prepare(stream, scratch));
  return std::unique_ptr<CudaFunction>(std::move(function));
}

}  // namespace tilewright
