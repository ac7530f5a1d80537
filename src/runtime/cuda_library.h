#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/library_call.h"
#include "src/base/status.h"

namespace tilewright {

/// A function of cuDNN or cuBLAS in the place of a kernel.
struct CudaLibraryCall {
  std::string file;  ///< of the library; empty: there is no call
  std::string operation;
  std::vector<std::int64_t> shape;   ///< the fields of a TwLibraryShape, in order
  std::array<int, 3> operands = {};  ///< result, data and weight among the program's arguments
  friend bool operator==(const CudaLibraryCall&, const CudaLibraryCall&) = default;
};
std::vector<std::int64_t> FieldsOf(const TwLibraryShape& shape);

/// A call that is ready to be made again and again. It must go before its session does.
class CudaFunction {
 public:
  virtual ~CudaFunction() = default;
  /// Puts it on its stream; also while that is recorded. Addresses of the device.
  /// Errors: kUnavailable with the library's code.
  virtual Status Enqueue(std::uint64_t result, std::uint64_t data, std::uint64_t weight) = 0;
};

/// Finds the library and, for a convolution, its fastest algorithm on the current context's device;
/// float32 is multiplied as such (no tf32). scratch: gives memory of so many bytes that lives as
/// long as the function.
/// Errors: kInvalidArgument for a file that is not that of the library which has the operation
/// (LibraryOfFile): nothing else is loaded; kNotFound if the library is not there; kUnsupported,
/// with operation and code, for what it refuses.
using CudaScratch = std::function<Result<std::uint64_t>(std::size_t bytes)>;
Result<std::unique_ptr<CudaFunction>> PrepareCudaFunction(const CudaLibraryCall& call, void* stream,
                                                          const CudaScratch& scratch);

}  // namespace tilewright
